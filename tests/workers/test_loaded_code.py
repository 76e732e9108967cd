"""A service trains the code on the disk, even if it was edited after the service started."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import normcore
from normcore.own_code import REGISTRIES
from tests.processes import service
from workers.loaded_code import KINDS
from workers.messages import name_files

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "mean_absolute_norm"
POINTS = "[normbench.methods]\nmean_absolute_norm = mean_absolute_norm:MeanAbsoluteNorm\n"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder for PYTHONPATH with the example package, and beside it a module of the user's that it imports."""
    site = tmp_path / "site"
    shutil.copytree(EXAMPLE / "mean_absolute_norm", site / "mean_absolute_norm")
    info = site / "mean_absolute_norm-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mean-absolute-norm\nVersion: 0.1.0\n")
    (info / "entry_points.txt").write_text(POINTS)
    options = site / "mean_absolute_norm" / "__init__.py"
    options.write_text(options.read_text() + "\n\nfrom helpers_of_mine import FACTOR\n")
    (site / "helpers_of_mine.py").write_text("FACTOR = 1\n")
    return site


def layers(site: Path) -> Path:
    return site / "mean_absolute_norm" / "layers.py"


CHANGED = """
import json, os, sys
from pathlib import Path
import normcore.code_version
normcore.code_version.SOURCE = Path(sys.argv[1]) / "copy"
from workers.loaded_code import LOADED
from normcore.spec.methods import METHODS
METHODS["mean_absolute_norm"]
LOADED.add_imported()
site = Path(sys.argv[1])
found = {"at first": LOADED.list_changed_files()}
def edited(file, content):
    before = (site / file).read_text() if (site / file).exists() else None
    (site / file).write_text(content(before))
    names = [str(Path(path).relative_to(site)) for path in LOADED.list_changed_files()]
    (site / file).write_text(before) if before is not None else (site / file).unlink()
    assert LOADED.list_changed_files() == (), "an edit that was undone is none"
    return names
found["a module"] = edited("mean_absolute_norm/layers.py", lambda text: text + "A = 1\\n")
found["touched"] = edited("mean_absolute_norm/layers.py", lambda text: text)
found["a new module"] = edited("mean_absolute_norm/new.py", lambda text: "A = 1\\n")
found["a module elsewhere"] = edited("helpers_of_mine.py", lambda text: "FACTOR = 2\\n")
found["a module of ours"] = edited("copy/normcore/norms/rms_norm.py", lambda text: text + "A = 1\\n")
found["a new module of ours"] = edited("copy/normcore/norms/new_norm.py", lambda text: "A = 1\\n")
found["a file of no module"] = edited("notes.txt", lambda text: "A = 1\\n")
print(json.dumps(found))
"""


def test_an_edited_new_or_removed_module_is_noticed_and_nothing_else(site: Path) -> None:
    shutil.copytree(Path(normcore.__file__).parent, site / "copy" / "normcore")
    command = [sys.executable, "-c", CHANGED, str(site)]
    done = subprocess.run(command, env={"PYTHONPATH": str(site)}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "at first": [],
        "a module": ["mean_absolute_norm/layers.py"],
        "touched": [],
        "a new module": ["mean_absolute_norm/new.py"],
        "a module elsewhere": ["helpers_of_mine.py"],
        "a module of ours": ["copy/normcore/norms/rms_norm.py"],
        "a new module of ours": ["copy/normcore/norms/new_norm.py"],
        "a file of no module": [],
    }


EDITED_MEANWHILE = """
import sys
from pathlib import Path
from workers.loaded_code import LOADED
Path(sys.argv[1], "helpers_of_mine.py").write_text("FACTOR = 2\\n")
import helpers_of_mine
LOADED.add_imported()
print(*(Path(path).name for path in LOADED.list_changed_files()))
"""


def test_a_module_written_while_the_process_imports_counts_as_edited(site: Path) -> None:
    """The module may have been written between its import and the look at its file."""
    command = [sys.executable, "-c", EDITED_MEANWHILE, str(site)]
    done = subprocess.run(command, env={"PYTHONPATH": str(site)}, capture_output=True, text=True, check=False)
    assert done.stdout == "helpers_of_mine.py\n", done.stderr


def test_plug_ins_of_every_kind_are_looked_at() -> None:
    groups = {registry.group for registries in REGISTRIES.values() for registry in registries}
    assert {f"normbench.{kind}" for kind in KINDS} == groups


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (["/a/own/layers.py"], "own/layers.py"),
        (["/a/b.py", "/c/d.py", "/e/f.py", "/g/h.py", "/i/j.py"], "a/b.py, c/d.py, e/f.py and 2 more"),
    ],
)
def test_files_are_named_with_their_folders_and_many_are_counted(files: list[str], words: str) -> None:
    assert name_files(files) == words


def losses(running: Any, experiment: Any) -> list[Any]:
    run = running.wait_ended(experiment)
    assert run["state"] == "succeeded", run
    points = running.get(f"/v1/runs/{run['id']}/measurements")["series"]["train.loss"]["points"]
    return [point[:2] for point in points]


def log_of(running: Any, experiment: Any) -> str:
    run_id = experiment["runs"][0]["id"]
    answer = running.http.get(f"/v1/runs/{run_id}/artifacts/log.txt")
    assert answer.status_code == 200, answer.text
    return str(answer.text)


def test_the_next_training_has_the_edited_code_and_its_log_says_so(
    tmp_path: Path, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(site))
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    with service(tmp_path) as running:
        running.up()
        before = losses(running, submitted(running))
        again = submitted(running)
        assert losses(running, again) == before
        assert "code was edited" not in log_of(running, again)

        source = layers(site).read_text()
        tripled = source.replace("return (self.weight *", "return (3 * self.weight *")
        layers(site).write_text(f"{source}\nopen(__file__, 'w').write({tripled!r})\n")  # edited right after its import
        second = submitted(running)
        of_tripled = losses(running, second)
        assert of_tripled != before
        assert "a fresh process, because code was edited since the last training: mean_absolute_norm/layers.py" in (
            log_of(running, second)
        )
        layers(site).write_text(source)
        assert pooled(running, 2) == [(2, 1)], "of the code that lies there, without another training"
        assert losses(running, submitted(running)) == before
        assert pooled(running, 3) == [(3, 1)]

        layers(site).write_text(f"{source}\nfrom helpers_of_mine import FACTOR\n\n1 / FACTOR\n")
        helpers = site / "helpers_of_mine.py"  # the fork server imports it with the options
        helpers.write_text("FACTOR = 0\n")
        failed = running.wait_ended(submitted(running))
        assert (failed["state"], "ZeroDivisionError" in failed["error"]) == ("failed", True)
        helpers.write_text("FACTOR = 10\n")
        assert losses(running, submitted(running)) == before, "a mended mistake fails no later run"
        time_ns = layers(site).stat().st_mtime_ns
        layers(site).write_text(layers(site).read_text().replace("1 / FACTOR", "1 / 0     "))
        os.utime(layers(site), ns=(time_ns, time_ns))  # a copy may have the time and the size of the file before it
        assert running.wait_ended(submitted(running))["state"] == "failed"


def submitted(running: Any) -> Any:
    return running.submit("mean_absolute_norm", training={"max_steps": 4, "eval_every": 2, "target": None})


def pooled(running: Any, n_runs: int, patience: float = 10.0) -> list[tuple[int, int]]:
    """Runs that entries pool and set aside, once there are ``n_runs``: an API looks at its files once a second."""
    deadline = time.monotonic() + patience
    while True:
        board = running.get("/v1/leaderboards/permuted_digits", profile="smoke")["entries"]
        found = [(entry["n_runs"], entry["n_older"]) for entry in board]
        if sum(pair[0] for pair in found) == n_runs or time.monotonic() > deadline:
            return found
        time.sleep(0.05)
