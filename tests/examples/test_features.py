"""The script that converts image features reads numbers from every format, and never runs code in a file."""

import pickle
import runpy
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.io import savemat

SCRIPT = Path(__file__).parents[2] / "examples" / "features" / "convert.py"
TABLE = np.arange(24, dtype=np.float64).reshape(6, 4) / 7


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def convert(*arguments: Any) -> Done:
    """Run the script in this process."""
    code: str | int | None = 0
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [str(SCRIPT), *map(str, arguments)])
        try:
            runpy.run_path(str(SCRIPT), run_name="__main__")
        except SystemExit as end:
            code = end.code
    assert isinstance(code, int)
    return Done(code, out.getvalue(), err.getvalue())


def written(path: Path, table: Any = TABLE, protocol: int = pickle.HIGHEST_PROTOCOL) -> Path:
    if path.suffix == ".mat":
        savemat(path, {"feats": table})
    elif path.suffix == ".npy":
        np.save(path, table)
    elif path.suffix == ".npz":
        np.savez(path, feats=table)
    else:
        path.write_bytes(pickle.dumps(table, protocol))
    return path


def test_the_script_runs_as_a_process(tmp_path: Path) -> None:
    command = [sys.executable, str(SCRIPT), str(written(tmp_path / "f.mat")), str(tmp_path / "out.npy")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, f"{tmp_path}/out.npy: 6 images of 4 numbers\n")
    refused = subprocess.run(command[:2], capture_output=True, text=True, timeout=60, check=False)
    assert (refused.returncode, "required: source, target" in refused.stderr) == (2, True)


@pytest.mark.parametrize("name", ["f.mat", "f.npy", "f.npz", "f.pkl", "f.pickle"])
def test_every_form_gives_the_same_numbers(tmp_path: Path, name: str) -> None:
    done = convert(written(tmp_path / name), tmp_path / "out.npy")
    assert (done.returncode, done.stdout) == (0, f"{tmp_path}/out.npy: 6 images of 4 numbers\n")
    found = np.load(tmp_path / "out.npy")
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, TABLE.astype(np.float32))


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickle_of_any_protocol_is_read(tmp_path: Path, protocol: int) -> None:
    assert convert(written(tmp_path / "f.pkl", TABLE, protocol), tmp_path / "out.npy").returncode == 0
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), TABLE.astype(np.float32))


def test_files_are_joined_columns_turned_and_crops_averaged(tmp_path: Path) -> None:
    by_column = written(tmp_path / "a.mat", TABLE.T)
    assert convert(by_column, by_column, tmp_path / "out.npy", "--columns", "--crops", 3).returncode == 0
    means = TABLE.reshape(2, 3, 4).mean(1)
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), np.concatenate([means, means]), rtol=1e-6)


def test_several_arrays_need_a_key(tmp_path: Path) -> None:
    np.savez(tmp_path / "f.npz", feats=TABLE, other=TABLE + 1)
    refused = convert(tmp_path / "f.npz", tmp_path / "out.npy")
    assert (refused.returncode, "--key to name one of: feats, other" in refused.stderr) == (1, True)
    assert convert(tmp_path / "f.npz", tmp_path / "out.npy", "--key", "other").returncode == 0
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), (TABLE + 1).astype(np.float32))


class Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return exec, ("open('ran', 'w')",)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_code_in_a_pickle_is_not_run(tmp_path: Path, protocol: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    refused = convert(written(tmp_path / "f.pkl", {"feats": TABLE, "x": Evil()}, protocol), tmp_path / "out.npy")
    assert refused.returncode == 1
    assert "exec, and may hold numpy arrays alone" in refused.stderr
    assert not (tmp_path / "ran").exists()
    assert not (tmp_path / "out.npy").exists()


WRONG = {
    "a row": (TABLE[0], "expected a table of numbers, received float64 of shape (4,)"),
    "nothing": (TABLE[:0], "expected a table of numbers, received float64 of shape (0, 4)"),
    "words": (np.array([["a"]]), "expected a table of numbers, received str32 of shape (1, 1)"),
    "not finite": (np.where(TABLE[2, 1] == TABLE, np.nan, TABLE), "image 2 has a number that is not finite"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_error_in_a_file_is_named(tmp_path: Path, kind: str) -> None:
    table, message = WRONG[kind]
    refused = convert(written(tmp_path / "f.npy", table), tmp_path / "out.npy")
    assert (refused.returncode, refused.stderr) == (1, f"convert.py: {tmp_path}/f.npy: {message}\n")


DAMAGED = {
    "pickle of nothing": ("f.pkl", b""),
    "pickle cut short": ("f.pkl", pickle.dumps(TABLE)[:-40]),
    "pickle of words": ("f.pkl", b"not a pickle"),
    "pickle without a stack": ("f.pkl", b"."),
    "pickle that asks for the memo": ("f.pkl", b"h\x05."),
    "pickle that builds nonsense": ("f.pkl", b"cnumpy\nndarray\n(tR."),
    "npy cut short": ("f.npy", b"\x93NUMPY\x01\x00"),
    "npy with an open bracket": ("f.npy", b"\x93NUMPY\x01\x00\x03\x00((("),
    "npz that is no archive": ("f.npz", b"PK\x03\x04rest"),
    "mat of nothing": ("f.mat", b""),
    "mat of words": ("f.mat", b"not a mat file, but long enough for it to look for a header of 128 bytes" * 3),
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_a_damaged_file_is_named(tmp_path: Path, kind: str) -> None:
    name, content = DAMAGED[kind]
    (tmp_path / name).write_bytes(content)
    refused = convert(tmp_path / name, tmp_path / "out.npy")
    begin = f"convert.py: {tmp_path}/{name}: it cannot be read: "
    assert (refused.returncode, refused.stderr.startswith(begin)) == (1, True), refused.stderr
    assert len(refused.stderr) > len(begin) + 1
    assert "Traceback" not in refused.stderr


@pytest.mark.parametrize("crops", ["0", "-2", "many"])
def test_crops_are_counted_from_one(tmp_path: Path, crops: str) -> None:
    refused = convert(written(tmp_path / "f.npy"), tmp_path / "out.npy", "--crops", crops)
    assert refused.returncode == 2
    assert "argument --crops: " in refused.stderr


def test_a_target_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    refused = convert(written(tmp_path / "f.npy"), tmp_path / "nowhere" / "out.npy")
    assert (refused.returncode, "nowhere/out.npy" in refused.stderr) == (1, True)
    assert "Traceback" not in refused.stderr


def test_arguments_that_do_not_fit_are_named(tmp_path: Path) -> None:
    table, narrow = written(tmp_path / "f.npy"), written(tmp_path / "g.npy", TABLE[:, :3])
    for arguments, message in (
        ((table, narrow, tmp_path / "out.npy"), "the files have 4, 3 numbers an image"),
        ((table, tmp_path / "out.npy", "--crops", 4), "6 rows cannot be shared out by 4 crops"),
        ((table, tmp_path / "out.txt"), "expected a name that ends in .npy"),
        ((tmp_path / "f.h5", tmp_path / "out.npy"), "expected a file that ends in .mat, .npy"),
        ((tmp_path / "h.npy", tmp_path / "out.npy"), "No such file"),
    ):
        refused = convert(*arguments)
        assert (refused.returncode, message in refused.stderr) == (1, True), refused.stderr
