"""Kernels are compiled once. If compiling fails, a warning says so and the reference runs instead."""

import errno
import fcntl
import importlib
import os
import platform
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import filelock
import pytest

from normcore.kernels.cpu import build
from normcore.kernels.cpu.build import INSTRUCTION_SETS, PREBUILT, SOURCES, Variant, build_if_missing, place_of
from normcore.kernels.cpu.compiler import BuildFailed, Limit
from normcore.kernels.cpu.load import KernelsMissing, instruction_set, load
from tests.compilers import command
from tests.normcore.kernels.cpu.building import PREPARE, RNN, python
from tests.processes import until
from tests.warm_python import WarmPython, warm_python

COMPARE = """
import sys, torch
from normcore.kernels import cpu
from normcore.kernels.cpu.load import instruction_set
from normcore import recurrent
from tests.normcore.kernels.cell_pass import cell_of, differences, drawn, everything, in_float32, some_mask
worst = 0.0
mask = some_mask(5, 7)
for cell in sys.argv[1:]:
    for method in ("none", "layer_norm", "recurrent_batch_norm", "rms_norm"):
        built = cell_of(cell, method, {}, inputs=3, hidden=21)
        x, start = drawn(built, 5, 7)
        exact = everything(recurrent.unroll, built, x, start, mask)
        found = everything(cpu.unroll, *in_float32(built, x, start), mask)
        worst = max(worst, *differences(found, exact).values())
print(instruction_set(), worst)
"""
LOAD = """
from pathlib import Path
import torch
from normcore.kernels import cpu
cpu.load("RNN", torch.float32)
mapped = Path("/proc/self/maps").read_text().splitlines()
print(len({line.split()[-1] for line in mapped if "libgomp" in line}))
"""
CHOOSE = """
import logging, torch
logging.basicConfig()
from normcore.kernels import choose
from normcore.spec.cells.rnn import RNN
from normcore.spec.methods.none import NoNorm
for _ in range(2):
    print(choose("auto", RNN(), NoNorm(), torch.device("cpu"), torch.float32)[0])
try:
    print(choose("fused", RNN(), NoNorm(), torch.device("cpu"), torch.float32)[0])
except ValueError as error:
    print(error)
"""


CHOOSE_TWICE = f"""
import os
child = os.fork()
{CHOOSE}
if child:
    assert os.waitpid(child, 0)[1] == 0
"""


Chosen = Callable[..., tuple[list[str], str]]


@pytest.fixture
def chosen(warm: WarmPython, tmp_path: Path) -> Chosen:
    """Asks a process in this environment for kernels. Returns what it gets for auto, for auto again and for fused, and
    the warnings of the process."""

    def choose(**environment: str) -> tuple[list[str], str]:
        out, err, _ = warm.told(tmp_path, ("-c", CHOOSE), {**os.environ, **environment})
        return out.splitlines(), err

    return choose


ROOT = Path(__file__).parents[4]
FLAGS = {"x86-64-v4": "avx512bw", "x86-64-v3": "avx2", "portable": None}


@pytest.mark.parametrize("capability", ["avx512", "avx2", "default"])
def test_every_instruction_set_gives_what_the_reference_gives(
    capability: str, tmp_path: Path, quickly: str, warm: WarmPython
) -> None:
    """``test_unroll.py`` tests the instruction set of this processor. The others are compiled for this test only, in
    float32 and without optimization, which takes a quarter of the time. Each has one cell: all cells are made of the
    same parts."""
    expected = {"avx512": "x86-64-v4", "avx2": "x86-64-v3", "default": "portable"}[capability]
    processor = Path("/proc/cpuinfo").read_text(encoding="utf-8").split()
    there = [name for name in INSTRUCTION_SETS if FLAGS[name] is None or FLAGS[name] in processor]
    assert instruction_set() == there[0]
    if expected == there[0] or expected not in there:  # torch crashes with instructions that the processor lacks
        return
    bin_ = command(tmp_path / "bin", "g++", quickly)
    path = f"{bin_}:{os.environ['PATH']}"
    asked = {"ATEN_CPU_CAPABILITY": capability, "PATH": path, "XDG_CACHE_HOME": str(tmp_path)}
    cells = {"avx512": ("lstm",), "avx2": ("lstm",), "default": ("gru",)}[capability]
    out, err, _ = warm.told(ROOT, ("-c", COMPARE, *cells), asked)
    assert not err
    name, worst = out.split()
    assert name == expected
    assert float(worst) < 1e-5


def test_an_object_is_built_once(fake: Path, tmp_path: Path, quickly: str) -> None:
    command(fake, "g++", quickly)
    first = build_if_missing(RNN, tmp_path)
    made = first.stat().st_mtime_ns
    assert build_if_missing(RNN, tmp_path) == first
    assert first.stat().st_mtime_ns == made
    assert sorted(path.suffix for path in tmp_path.iterdir() if path.is_file()) == [".lock", ".so"]


def test_concurrent_builds_start_a_single_compiler(tmp_path: Path, quickly: str, warm: WarmPython) -> None:
    bin_ = command(tmp_path / "bin", "g++", f'echo "$@" >> {tmp_path}/calls; {quickly}')
    asked = {"PATH": f"{bin_}:{os.environ['PATH']}", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    out, err, status = warm.told(tmp_path, ("-c", CHOOSE_TWICE), asked)
    assert (out.replace("\n", ""), status) == ("fused" * 6, 0), err  # the lines of two processes may mix
    calls = (tmp_path / "calls").read_text().splitlines()
    assert sum("kernel.cpp" in call for call in calls) == 1


def test_missing_compiler_gives_the_reference_and_a_single_warning(tmp_path: Path, chosen: Chosen) -> None:
    out, err = chosen(PATH=str(tmp_path), XDG_CACHE_HOME=str(tmp_path))
    why = "there are no fused kernels on this machine: there is no g++; install it (Debian: apt install g++)"
    assert out == ["reference", "reference", f"{why}; use auto or reference"]
    assert err.count(why) == 1
    assert "small ones several times slower" in err


def test_without_a_compiler_the_newest_built_object_is_used(fake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(fake))
    with pytest.raises(BuildFailed):
        place_of(RNN)
    objects = Path(os.environ["XDG_CACHE_HOME"]) / "normbench" / "kernels"
    for version, made in (("9.1.0", 1), ("12.2.0", 3), ("13.0.0", 2)):
        found = objects / f"g++-{version}" / RNN.file_name
        found.parent.mkdir(parents=True)
        found.touch()
        os.utime(found, (made, made))
    assert place_of(RNN) == objects / "g++-12.2.0" / RNN.file_name


def test_without_a_compiler_an_object_built_before_runs(tmp_path: Path, quickly: str, chosen: Chosen) -> None:
    """A node of a cluster may share the cache with a node that has a compiler."""
    bin_ = command(tmp_path / "bin", "g++", quickly)
    cache = str(tmp_path / "cache")
    out, _ = chosen(PATH=f"{bin_}:{os.environ['PATH']}", XDG_CACHE_HOME=cache)
    assert out == ["fused"] * 3
    out, err = chosen(PATH=str(tmp_path / "empty"), XDG_CACHE_HOME=cache)
    assert out == ["fused"] * 3, err


def test_failing_compiler_is_reported_with_its_reason(tmp_path: Path, chosen: Chosen) -> None:
    fails = 'case "$1" in -dump*) echo 12;; *) echo "no such flag" >&2; exit 3;; esac'
    bin_ = command(tmp_path / "bin", "g++", fails)
    out, _ = chosen(PATH=f"{bin_}:{os.environ['PATH']}", XDG_CACHE_HOME=str(tmp_path))
    assert out[0] == "reference"
    assert "g++ ended with 3: no such flag" in out[2]


def test_killed_compiler_leaves_no_file(tmp_path: Path, chosen: Chosen) -> None:
    dies = 'case "$1" in -dump*) echo 12;; *) for o; do :; done; echo half > "$o"; kill -9 $$;; esac'
    bin_ = command(tmp_path / "bin", "g++", dies)
    out, _ = chosen(PATH=f"{bin_}:{os.environ['PATH']}", XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert out[0] == "reference"
    assert "g++ ended with -9: it said nothing" in out[2]
    left = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert [path.suffix for path in left] == [".lock"]


def test_killed_builder_does_not_block_others(tmp_path: Path, quickly: str, chosen: Chosen) -> None:
    waits = f'case "$1" in -dump*) echo 12;; *) touch {tmp_path}/began; exec sleep 60;; esac'
    bin_ = command(tmp_path / "bin", "g++", waits)
    cache = str(tmp_path / "cache")
    stuck = python(CHOOSE, PATH=f"{bin_}:{os.environ['PATH']}", XDG_CACHE_HOME=cache)
    until((tmp_path / "began").exists, 60, str)
    stuck.kill()
    stuck.communicate()
    command(tmp_path / "bin", "g++", 'case "$1" in -dump*) echo 12;; *) ' + quickly + ";; esac")
    out, err = chosen(PATH=f"{bin_}:{os.environ['PATH']}", XDG_CACHE_HOME=cache)
    assert out == ["fused"] * 3, err


def test_cache_that_cannot_be_written_is_reported(tmp_path: Path, chosen: Chosen) -> None:
    (tmp_path / "normbench").write_text("a file where the folder would be")
    out, err = chosen(XDG_CACHE_HOME=str(tmp_path))
    assert out[0] == "reference"
    assert f"{tmp_path}/normbench/kernels" in out[2]
    assert "cannot be written" in err


def test_cache_that_cannot_be_searched_is_reported(tmp_path: Path, warm: WarmPython, chosen: Chosen) -> None:
    """A folder without search permission would be such a cache, but root may search it. Here the name is too long."""
    cache = str(tmp_path / ("x" * 300))
    out, _ = chosen(XDG_CACHE_HOME=cache)
    assert out[0] == "reference"
    prepared, err, _ = warm.told(tmp_path, ("-c", PREPARE), {"XDG_CACHE_HOME": cache})
    for told in (out[2], prepared):
        assert "cannot be written: [Errno 36] File name too long" in told, err


def test_waiting_for_another_process_ends_at_the_time_limit(tmp_path: Path) -> None:
    target = place_of(RNN, tmp_path)
    with (
        filelock.FileLock(f"{target}.lock"),
        pytest.raises(BuildFailed, match=rf"^another process did not finish {target} within 1 s$"),
    ):
        build_if_missing(RNN, tmp_path, Limit(1.0))


def test_build_works_on_a_file_system_without_locks(
    fake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: object) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    command(fake, "g++", 'for o; do :; done; echo object > "$o"')
    monkeypatch.setattr(fcntl, "flock", missing)
    with pytest.warns(UserWarning, match="flock not supported"):
        assert build_if_missing(RNN, tmp_path).read_text() == "object\n"


def test_time_limit_holds_for_all_objects_together(fake: Path, tmp_path: Path, warm: WarmPython) -> None:
    command(fake, "g++", 'case "$1" in -dump*) echo 12;; *) exec sleep 60;; esac')
    out, err, _ = warm.told(tmp_path, ("-c", PREPARE), os.environ)
    why, seconds = out.splitlines()
    assert why == "g++ did not end within 2 s", err
    assert float(seconds) < 5


def test_object_is_synced_to_disk_before_it_is_renamed(
    fake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a power cut could leave an empty object under the final name."""
    done: list[str] = []
    fsync, replace = os.fsync, os.replace

    def noted_fsync(descriptor: int) -> None:
        done.append(f"synced {os.readlink(f'/proc/self/fd/{descriptor}')}")
        fsync(descriptor)

    def noted_replace(source: Path, target: Path) -> None:
        done.append("renamed")
        replace(source, target)

    command(fake, "g++", 'for o; do :; done; echo object > "$o"')
    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "replace", noted_replace)
    target = build_if_missing(RNN, tmp_path)
    assert done == [f"synced {target.with_suffix(f'.{os.getpid()}')}", "renamed", f"synced {tmp_path}"]


@pytest.mark.parametrize("content", [b"", bytes(100_000)], ids=["empty", "zeros"])
def test_broken_object_in_the_cache_is_rebuilt(fake: Path, content: bytes, quickly: str, chosen: Chosen) -> None:
    command(fake, "g++", quickly)
    broken = place_of(RNN)
    broken.parent.mkdir(parents=True)
    broken.write_bytes(content)
    out, err = chosen()
    assert out == ["fused"] * 3, err


def test_object_that_cannot_be_loaded_is_reported_and_rebuilt_by_the_next_process(
    fake: Path, tmp_path: Path, quickly: str, chosen: Chosen
) -> None:
    calls = tmp_path / "calls"
    known = 'case "$1" in -dump*) echo 12;; *)'
    command(fake, "g++", f'{known} echo >> {calls}; for o; do :; done; echo no > "$o";; esac')
    for count in (1, 2):
        out, _ = chosen()
        assert out[0] == "reference"
        assert "file too short" in out[2]
        assert calls.read_text().count("\n") == count
    command(fake, "g++", f"{known} {quickly};; esac")
    out, err = chosen()
    assert out == ["fused"] * 3, err


def test_broken_prebuilt_object_is_reported_and_kept(
    fake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.import_module("normcore.kernels.cpu.load"), "PREBUILT", tmp_path)
    (tmp_path / RNN.file_name).write_text("broken")
    with pytest.raises(KernelsMissing, match="file too short"):
        load("RNN")
    assert (tmp_path / RNN.file_name).read_text() == "broken"


def test_prebuilt_objects_need_no_compiler(fake: Path, tmp_path: Path, quickly: str) -> None:
    """The Docker image builds objects into the package; the nodes of the cluster have no compiler."""
    package = tmp_path / "normcore"
    package.mkdir()
    copied = ["cp", "-r", *map(str, SOURCES.parents[2].iterdir()), str(package)]
    subprocess.run(copied, check=True)
    command(fake, "g++", quickly)
    empty = tmp_path / "empty"
    empty.mkdir()
    with warm_python(["torch"], {**os.environ, "PYTHONPATH": str(tmp_path)}, tmp_path) as in_copy:
        made = in_copy.run(tmp_path, "-m", "normcore.kernels.cpu.build", instruction_set()).splitlines()
        assert [Path(path).parent for path in made] == [package / "kernels" / "cpu" / "prebuilt"] * 3
        out, err, _ = in_copy.told(tmp_path, ("-c", CHOOSE), {"PATH": str(empty), "XDG_CACHE_HOME": str(empty)})
    assert out.split() == ["fused"] * 3, err
    assert list(empty.iterdir()) == []


@pytest.mark.parametrize(
    ("machine", "expected"),
    [("x86_64", ["x86-64-v3", "x86-64-v4"]), ("aarch64", ["portable"])],
)
def test_prebuilding_on_another_architecture_builds_the_portable_objects(
    monkeypatch: pytest.MonkeyPatch, machine: str, expected: list[str]
) -> None:
    """The Docker image can therefore be built on any machine."""
    asked: list[Variant] = []

    def note(variant: Variant, folder: Path) -> Path:
        asked.append(variant)
        assert folder == PREBUILT
        return folder / variant.file_name

    monkeypatch.setattr(build, "build_if_missing", note)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    build.main(["x86-64-v3", "x86-64-v4"])
    assert sorted((v.instruction_set, v.cell, v.float64) for v in asked) == sorted(
        (name, cell, False) for name in expected for cell in ("LSTM", "GRU", "RNN")
    )


@pytest.mark.skipif(sys.platform != "linux", reason="the flags are those of Linux")
def test_object_needs_only_the_thread_library_of_the_compiler(
    fake: Path, tmp_path: Path, quickly: str, warm: WarmPython
) -> None:
    """A node may lack the compiler's libraries or have older ones. The library for threads comes with torch."""
    command(fake, "g++", quickly)
    needs = subprocess.run(["ldd", build_if_missing(RNN, tmp_path)], capture_output=True, text=True, check=True).stdout
    assert "libc.so" in needs
    assert "libstdc++" not in needs
    assert "libgcc_s" not in needs
    out, err, _ = warm.told(tmp_path, ("-c", LOAD), os.environ)
    assert out == "1\n", err


def test_waiting_for_another_builder_ends_when_it_is_done(fake: Path, tmp_path: Path, quickly: str) -> None:
    command(fake, "g++", quickly)
    paths: list[Path] = []
    threads = [threading.Thread(target=lambda: paths.append(build_if_missing(RNN, tmp_path))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert len(paths) == 3
    assert len(set(paths)) == 1
