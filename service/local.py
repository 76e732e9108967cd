"""``normbench up``: API, scheduler and workers on one machine, with no server beside them."""

from collections.abc import Callable

from service.crew import Crew
from service.serve import make_server, run_until_told
from service.settings import Settings
from service.startup import StartupError, exit_on_signals, keys_needed, listen, port_of, prepare, sole_use


def up(
    settings: Settings, host: str, port: int, workers: int, device: str | None, ready: Callable[[int], None]
) -> None:
    """Run everything until SIGTERM or SIGINT.

    Args:
        workers: runs that train at the same time; each keeps one core busy.
        device: ``cpu``, ``cuda:0``, …; None lets each worker choose.
        ready: called with the port once the address is ours; 0 asks for any that is free.

    Raises:
        StartupError: the data directory is in use, no worker can work here, or see ``service.startup``.
    """
    exit_on_signals()
    with sole_use(settings.data_dir):
        db = prepare(settings)
        require_keys = keys_needed(db, host)
        listening = listen(host, port)
        server = make_server(settings, require_keys=require_keys)
        ready(port_of(listening))
        crew = Crew(db, settings, device, cannot_work=lambda: setattr(server, "should_exit", True))
        try:
            crew.start(workers)
            run_until_told(server, listening)
        finally:
            crew.stop()
            db.close()
    if crew.refused:
        raise StartupError("no worker can work here; it says why above")
