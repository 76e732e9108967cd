"""``python -P -m workers``: one worker process. Slow imports come after the start of the fork server."""

import argparse
import gc
import json
import logging
import sys

from workers import fork_server


def main() -> int:
    """Read the command line, then serve.

    Returns:
        0 after SIGTERM or SIGINT; 2 if a worker cannot work here, with the reason on standard error.
    """
    parser = argparse.ArgumentParser(prog="normbench worker", description="Train queued runs, one at a time.")
    parser.add_argument("--device", help="cpu, cuda or cuda:N; a GPU if there is one, else the CPU")
    parser.add_argument("--json", action="store_true", help="say as JSON that the worker runs")
    parser.add_argument("--id", help=argparse.SUPPRESS)
    parser.add_argument("--follow-stdin", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    fork_server.start()
    gc.set_threshold(50_000)  # imports make no garbage, and the searches for it take a tenth of a second
    try:
        return _serve(arguments)
    finally:
        fork_server.end()


def _serve(arguments: argparse.Namespace) -> int:
    from service.processes.startup import StartupError, exit_on_signals
    from service.settings import InvalidSettings, read_settings
    from workers.app import run_worker
    from workers.settings import WorkerSettings

    exit_on_signals()
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("workers").setLevel(logging.INFO)
    try:
        settings = read_settings(WorkerSettings, device=arguments.device)
        if arguments.json:
            print(json.dumps({"worker": "starting", "device": settings.device}), flush=True)
        run_worker(settings, worker_id=arguments.id, follow_stdin=arguments.follow_stdin)
    except (InvalidSettings, StartupError) as error:
        print(f"normbench worker: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
