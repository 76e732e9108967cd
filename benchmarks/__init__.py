"""Benchmarks of the service, beside the tools that one would use instead. ``python -m benchmarks`` prints one table.

A module measures one group of numbers: ``submitting``, ``reporting``, ``overhead``, ``latency``, ``leaderboard``; the
package ``faults`` measures what becomes of runs when everything dies, and how soon they go on. Each has
``measure(scratch)``, which starts what it needs, measures ours and the other's in turns, ends what it started and gives
``Number`` values. To add a group, write such a module and name it in ``__main__.GROUPS``.

``number`` holds what a number is, ``table`` how it is shown, ``processes`` starts and ends servers, ``ours`` and
``mlflow`` are the two of them that are measured, ``load`` is the client.
"""
