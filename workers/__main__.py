"""``python -m workers``: one worker process."""

import argparse
import json
import logging
import sys


def main() -> int:
    """Read the command line, then serve."""
    from service.settings import InvalidSettings, read_settings
    from service.startup import StartupError
    from workers.app import run_worker
    from workers.settings import WorkerSettings

    parser = argparse.ArgumentParser(prog="normbench worker", description="Train queued runs, one at a time.")
    parser.add_argument("--device", help="cpu, cuda or cuda:N; a GPU if there is one, else the CPU")
    parser.add_argument("--json", action="store_true", help="say as JSON that the worker runs")
    parser.add_argument("--until-stdin-closes", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("workers").setLevel(logging.INFO)
    try:
        settings = read_settings(WorkerSettings, device=arguments.device)
        if arguments.json:
            print(json.dumps({"worker": "starting", "device": settings.device}), flush=True)
        run_worker(settings, until_stdin_closes=arguments.until_stdin_closes)
    except (InvalidSettings, StartupError) as error:
        print(f"normbench worker: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
