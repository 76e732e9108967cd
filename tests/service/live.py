"""The API on a real socket, in a thread of the test's process."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from service.processes.serve import make_server
from service.processes.startup import listen
from service.settings import Settings

START_SECONDS = 90.0


@contextmanager
def live_api(settings: Settings, *, require_keys: bool = False) -> Iterator[str]:
    """A running API on a migrated database; yields its URL."""
    listening = listen("127.0.0.1", 0)
    server = make_server(settings, require_keys=require_keys)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, name="api")
    thread.start()
    try:
        deadline = time.monotonic() + START_SECONDS
        while not server.started:
            assert thread.is_alive(), "the API ended before it began"
            assert time.monotonic() < deadline, f"the API is not up after {START_SECONDS} s"
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(START_SECONDS)
        listening.close()
