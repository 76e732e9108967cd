"""A spec takes the path from POST to board that ``docs/develop/architecture.md`` describes."""

import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from starlette.testclient import TestClient

from service.app import create_app
from service.db import Database
from service.queue import Notifier, make_celery
from service.settings import Settings, read_settings
from tests.workers.test_trainer import job
from tests.workers.test_training import told_by
from workers.node import identify
from workers.settings import WorkerSettings
from workers.tasks import Executor

ROOT = Path(__file__).parents[1]
STOP = re.compile(r"^\| \d+ \| `(.+?\.py)` \|", re.MULTILINE)
MOST = 9
TRAINING = "normcore/training/loop.py"  # runs in a separate process
SPEC = {"task": {"name": "permuted_digits", "profile": "smoke"}, "norm": {"method": "layer_norm"}, "seeds": [0]}


@contextmanager
def entered(stops: list[str]) -> Iterator[list[str]]:
    """Record which files of ``stops`` are called inside the block, in any thread, in the order of their first call.

    Constructors do not count, because a report is constructed before its training.
    """
    found: dict[str, None] = {}
    of = {str(ROOT / stop): stop for stop in stops}

    def note(frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_name != "__init__" and (stop := of.get(code.co_filename)):
            found.setdefault(stop)

    order: list[str] = []
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield order
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        order += found


def test_spec_takes_the_documented_path_from_post_to_board(tmp_path: Path, settings: Settings, db: Database) -> None:
    stops = STOP.findall((ROOT / "docs/develop/architecture.md").read_text())
    assert 2 < len(stops) <= MOST
    assert len(set(stops)) == len(stops)
    of_worker = read_settings(WorkerSettings, data_dir=tmp_path)
    notifier = Notifier(make_celery(of_worker))
    app = create_app(settings, require_keys=False)
    with entered(stops) as walk, TestClient(app) as client:
        assert client.post("/v1/experiments", json=SPEC).status_code == 201
        Executor(db, of_worker, identify("cpu", "wrk_1"), notifier).execute_next()
        [entry] = client.get("/v1/leaderboards/permuted_digits?profile=smoke").json()["entries"]
    notifier.close()
    assert entry["method"] == "layer_norm"
    assert walk == [stop for stop in stops if stop != TRAINING]
    with entered(stops) as apart:
        told_by(job(tmp_path))
    assert TRAINING in apart
