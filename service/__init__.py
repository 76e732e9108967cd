"""The service: experiments in over HTTP, runs to the workers, results to the leaderboards.

Every room has the same furniture: ``tables`` (rows), a module of verbs that change them, ``queries`` (reads,
returning plain values), ``schemas`` (what the API shows), ``routes`` (HTTP in, schema out). Nothing here imports
torch or the workers; a worker is reached through the queue, by the name of its task.
"""
