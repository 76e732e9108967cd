"""The service: experiments in over HTTP, runs to the workers, results to the leaderboards.

Each concept has a room: ``experiments``, ``leaderboards``, ``report_cards``, ``fleet`` (the workers), ``workload``
(what waits, and who works on it), ``keys`` and ``catalogue``. A room has those of the following that it needs, under
these names:

- ``tables``: its rows;
- modules that change its rows, each named after what it does: ``submission``, ``entries``, ``registration``;
- ``queries``: reads that return plain values;
- ``schemas``: what the API shows;
- ``examples``: what the description of the API shows;
- ``routes``: HTTP in, schema out.

``http`` holds what all routes share, ``processes`` what runs as a process of its own. Of the modules beside the rooms,
``app``, ``metrics`` and ``results`` bring rooms together; the others serve all rooms and use none. Nothing here imports
torch or the workers; a worker is reached through the queue, by the name of its task.
"""
