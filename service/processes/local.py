"""``normbench up``: API, scheduler and workers on one machine, without PostgreSQL or a broker. It imports them last,
which takes a second: if it cannot start, it says so before.
"""

from collections.abc import Callable

from service.processes.serve import make_server, run_until_told
from service.processes.sole_use import sole_use
from service.processes.startup import StartupError, exit_on_signals, keys_needed, listen, port_of, prepare
from service.settings import Settings


def up(
    settings: Settings,
    host: str,
    port: int,
    workers: int,
    device: str | None,
    ready: Callable[[int], None],
    note: Callable[[str], None],
) -> None:
    """Run the API, the scheduler and the workers until SIGTERM or SIGINT.

    Args:
        workers: number of runs that train at the same time; each keeps one core busy.
        device: ``cpu``, ``cuda:0``, …; None lets each worker choose.
        ready: called with the port once the socket listens; port 0 means any free one.
        note: called with one line before a wait for a service that is ending in the same data directory.

    Raises:
        StartupError: the data directory is in use, no worker can work here, or a cause in
            ``service.processes.startup``.
    """
    exit_on_signals()
    with sole_use(settings.data_dir, note) as begin_to_end:
        db = prepare(settings)
        require_keys = keys_needed(db, host)
        listening = listen(host, port)
        from service.processes.supervisor import Supervisor

        server = make_server(settings, require_keys=require_keys, told=begin_to_end)
        ready(port_of(listening))
        supervisor = Supervisor(db, settings, device, cannot_work=lambda: setattr(server, "should_exit", True))
        try:
            supervisor.start(workers)
            run_until_told(server, listening)
        finally:
            begin_to_end()
            supervisor.stop()
            db.close()
    if supervisor.refused:
        raise StartupError("no worker can work here; the messages above say why")
