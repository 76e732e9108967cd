"""The service: it takes experiments over HTTP, gives runs to the workers, and ranks results on leaderboards.

Each concept has a room: ``experiments``, ``leaderboards``, ``report_cards``, ``fleet`` (the workers), ``workload``
(waiting runs, and the workers that train), ``keys`` and ``catalogue``. A room has some of these modules:

- ``tables``: the database tables that only this room writes;
- modules that change rows, each named after what it does: ``submission``, ``entries``, ``registration``;
- ``queries``: reads that return plain values;
- ``schemas``: what the API shows;
- ``examples``: examples in the description of the API;
- ``routes``: HTTP endpoints, which answer with a schema.

``http`` holds what all routes share, ``processes`` what runs as a process of its own. Of the modules beside the rooms,
``app``, ``metrics`` and ``results`` bring rooms together; the others serve all rooms and use none. Nothing here imports
torch or the workers; a worker is reached through the queue, by the name of its task.
"""
