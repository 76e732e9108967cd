"""Benchmarks of the service, compared with other tools. ``python -m benchmarks`` prints one table.

Each module named in ``__main__.GROUPS`` measures one group of numbers; ``submitting`` and ``latency`` are two. The
package ``faults`` kills processes, and measures if runs survive and how soon they go on. A group has
``measure(scratch)``. It starts the servers that it needs, measures ours and the other's in turns, ends the servers, and
returns ``Number`` values. To add a group, write such a module and name it in ``__main__.GROUPS``.

``number`` defines a number and ``table`` prints it. ``processes`` starts and ends servers. ``ours`` and ``mlflow``
start the two services that are measured, and ``load`` is the client.
"""
