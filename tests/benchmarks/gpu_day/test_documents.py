"""Tables of the documents are what the results say, and nothing is written that was not measured."""

import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from benchmarks.gpu_day import documents
from benchmarks.gpu_day.__main__ import main
from benchmarks.gpu_day.results import Results
from benchmarks.kernels.contestants import Shape
from benchmarks.kernels.measuring import METHODS, SHAPES, Times
from benchmarks.processes import ROOT
from normcore.kernels.gpu import check
from normcore.spec.kernels import FUSED_PAIRS

MACHINE = {
    **{"gpu": "NVIDIA X1", "driver": "1", "cuda": "13.0", "torch": "2.11.0", "triton": "3.6.0", "cudnn": 91900},
    **{"cpu": "a CPU", "git": "0123456789abcdef", "interpreted": False},
}


def stored(folder: Path, part: str, measured: dict[str, Any], **changes: Any) -> None:
    """Store results of a part; ``changes`` are changes of the machine."""
    results = Results.read(folder, part)
    results.measured_on({**MACHINE, **changes})
    results.content |= {"measured": measured, "date": "2027-01-02"}
    results.write()


def times(shape: Shape, method: str, ratio: float, **changes: Any) -> dict[str, Any]:
    """Times of a step of 2 ms times ``ratio``, where cuDNN takes 2 ms, and the reference 10 times ours."""
    found = Times(
        cell="lstm",
        method=method,
        shape=shape,
        setting="float32",
        train=0.002 * ratio,
        theirs_train=0.002,
        evaluate=0.003,
        theirs_evaluate=0.001,
        pairs=(ratio, ratio),
        reference=0.02 * ratio,
        kept=3,
        theirs_kept=2,
    )
    return {**asdict(found), **changes, "seconds": 1.0}


def speed(shapes: tuple[Shape, ...] = SHAPES) -> dict[str, Any]:
    """Times of all methods: 0.5 and 2 times cuDNN's in turns, so 1.00 in the mean, and 4 times without norm."""
    return {
        f"{shape} {method}": times(shape, method, 4.0 if method == "none" else (0.5, 2.0)[k % 2])
        for k, shape in enumerate(shapes)
        for method in METHODS
    }


def comparisons(wrong: tuple[str, str] | None = None) -> dict[str, Any]:
    """Comparisons of all pairs. The largest error is that of 100 units; a pair may be wrong in bfloat16 there."""
    return {
        f"{cell} {method} {units} {precision.name}": {
            **{"cell": cell, "method": method, "units": units, "precision": precision.name, "steps": 16},
            **{"tensors": 100, "worst": "y, training", "error": 2e-6 if units == 100 else 1e-6, "eager_error": 3e-7},
            "most_times_eager": 5.0,
            "wrong": ["y, training"] if (cell, method) == wrong and precision.autocast and units == 100 else [],
        }
        for cell, method in FUSED_PAIRS
        for units in check.HIDDEN
        for precision in check.PRECISIONS
    }


def trained(kernel: str, **changes: Any) -> dict[str, Any]:
    return {
        **{"kernel": kernel, "updates": 1000, "seconds_per_update": 0.0042, "seconds_in_all": 6.5, "timing": None},
        **{"metric": "bits_per_char", "value": 2.5, "attempt": 1, "resumed_from_step": None, **changes},
    }


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Copies of the documents with blocks."""
    for document in {block.document for block in documents.BLOCKS.values()}:
        (tmp_path / document).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / document, tmp_path / document)
    return tmp_path


def texts(folder: Path, **options: Any) -> dict[str, str]:
    return dict(documents.make_texts(folder, **options))


def test_every_block_stands_once_in_its_document() -> None:
    for name, block in documents.BLOCKS.items():
        text = (ROOT / block.document).read_text()
        replaced = documents.replace_block(text, name, "a new text", block.document)
        assert replaced.count("a new text") == 1


def test_only_blocks_with_results_are_replaced_and_a_second_time_changes_nothing(copy: Path, tmp_path: Path) -> None:
    before = {block.document: (copy / block.document).read_text() for block in documents.BLOCKS.values()}
    stored(tmp_path / "results", "exactness", comparisons())
    documents.write(tmp_path / "results", root=copy)
    kernels = (copy / documents.KERNELS).read_text()
    assert "All 15 pairs are right" in kernels
    for unchanged in ("No worker has trained a run on a GPU yet.", "| 784,100,1,100 | 5.7 ms | 3.14 (22) |"):
        assert unchanged in kernels
    assert [name for name, text in before.items() if (copy / name).read_text() != text] == [documents.KERNELS]
    documents.write(tmp_path / "results", root=copy)
    assert (copy / documents.KERNELS).read_text() == kernels


def test_results_of_the_interpreter_are_only_printed(
    copy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "results"
    stored(results, "exactness", comparisons(), interpreted=True, gpu=None)
    before = (copy / documents.KERNELS).read_text()
    with pytest.raises(documents.Refusal, match="no measurements; add --dry-run"):
        documents.write(results, root=copy)
    documents.write(results, dry_run=True, root=copy)
    assert (copy / documents.KERNELS).read_text() == before
    assert "a CPU by Triton's interpreter" in capsys.readouterr().out


def test_folder_without_results_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--tables", str(tmp_path)]) == 1
    assert "has no results; measure with python -m benchmarks.gpu_day --to" in capsys.readouterr().err


def test_table_of_speed_has_ratios_means_and_verdicts(tmp_path: Path) -> None:
    stored(tmp_path, "speed", speed())
    found = texts(tmp_path)
    assert "NVIDIA X1, torch 2.11.0, triton 3.6.0, cuDNN 91900, 2027-01-02, commit 01234567." in found["speed"]
    assert "| 784,100,1,100 | 2.0 ms | 4.00 (10.0) | 0.50 (10.0) | 0.50 (10.0) | 0.50 (10.0) |" in found["speed"]
    assert "| 784,100,1,100 | 1.0 ms | 3.00 | 3.00 | 3.00 | 3.00 |" in found["speed"]
    assert "| geometric mean of 6 shapes |  | 4.00 | 1.00 | 1.00 | 1.00 |" in found["speed"]
    assert "none 0 of 6 (worst 4.00), layer_norm 3 of 6 (worst 2.00)" in found["speed"].replace("\n", " ")
    assert "| LSTM, float32 | 4.00 | 1.00 | 1.00 | 1.00 |" in found["summary"]
    assert "4.00 (`none`), 1.00 (`layer_norm`)" in found["sentence"].replace("\n", " ")
    assert "| without norm | 4.00 |" in found["library"]
    assert found["rows"].count("\n| 784,100,1,100 |") == len(METHODS)
    assert "rnn" not in found


def test_missing_shape_leaves_means_out(tmp_path: Path) -> None:
    stored(tmp_path, "speed", speed(SHAPES[:5]))
    found = texts(tmp_path)
    assert "| geometric mean of 6 shapes |  | – | – | – | – |" in found["speed"]
    assert "| LSTM, float32 | – | – | – | – |" in found["summary"]
    assert "library" not in found
    assert "sentence" not in found


def test_missing_method_of_a_shape_is_a_dash(tmp_path: Path) -> None:
    measured = speed()
    del measured[f"{SHAPES[0]} layer_norm"]
    stored(tmp_path, "speed", measured)
    assert "| 784,100,1,100 | 2.0 ms | 4.00 (10.0) | – | 0.50 (10.0) | 0.50 (10.0) |" in texts(tmp_path)["speed"]


def test_times_of_both_parts_share_the_row_of_a_cell(tmp_path: Path) -> None:
    stored(tmp_path, "speed", speed())
    over_sequence = {str(shape): times(shape, "sequence_batch_norm", 3.0) for shape in SHAPES}
    of_rnn = {f"{shape} rnn": times(shape, "none", 5.0, cell="rnn") for shape in SHAPES}
    stored(tmp_path, "rnn", {**over_sequence, **of_rnn})
    summary = texts(tmp_path)["summary"]
    assert "| LSTM, float32 | 4.00 | 1.00 | 1.00 | 1.00 | 3.00 |" in summary
    assert "| RNN, float32 | 5.00 | – | – | – | – |" in summary


def test_gain_of_tf32_is_told_by_shape(tmp_path: Path) -> None:
    rounded = {"tf32": {"cell": "lstm", "shape": SHAPES[0], "exact": 0.006, "rounded": 0.004, "seconds": 1.0}}
    stored(tmp_path, "speed", {**speed(), **rounded})
    assert (
        "| cuDNN's step without TF32 / with TF32 | 784,100,1,100 |\n| --- | --- |\n| LSTM | 1.50 |"
        in texts(tmp_path)["speed"]
    )


def test_exactness_tells_the_largest_error_and_the_wrong_pair(tmp_path: Path) -> None:
    stored(tmp_path, "exactness", comparisons(wrong=("gru", "rms_norm")))
    found = texts(tmp_path)["exactness"]
    assert "Not right: gru with rms_norm." in found
    assert "All 15" not in found
    assert "| GRU with rms_norm | 600 | 2.0e-06 (3.0e-07) | 2.0e-06 (3.0e-07) | wrong: y, training |" in found
    assert "| LSTM with none | 600 | 2.0e-06 (3.0e-07) | 2.0e-06 (3.0e-07) | right |" in found


def test_pairs_that_were_not_measured_are_not_called_right(tmp_path: Path) -> None:
    measured = {name: found for name, found in comparisons().items() if not name.endswith("256 bfloat16")}
    stored(tmp_path, "exactness", measured)
    found = texts(tmp_path)["exactness"]
    assert "Nothing was wrong in what was measured: 0 of 15 pairs completely." in found
    assert "| right as far as measured |" in found
    assert "| right |" not in found


def test_what_is_left_out_and_what_broke_is_told(tmp_path: Path) -> None:
    stored(tmp_path, "exactness", comparisons())
    results = Results.read(tmp_path, "exactness")
    results.content |= {"left_out": ["a", "b"], "broken": {"c": {"why": "ValueError: seven", "again": False}}}
    results.write()
    found = texts(tmp_path)["exactness"].replace("\n", " ")
    assert "There was no time for 2 of 92 measurements." in found
    assert "These measurements broke:  - `c`: ValueError: seven" in found


def test_training_tells_seconds_kernels_and_the_kill(tmp_path: Path) -> None:
    runs = {
        "trial": {"seconds_to_claim": 123.4, "tried": 15, "verdicts": {}, "line": "fused kernels on this device: all"},
        "layer_norm by auto": trained("fused"),
        "layer_norm by reference": trained("reference", seconds_per_update=0.05, value=None),
        "killed worker": trained("fused", killed_at=310, resumed_from_step=300, attempt=2),
    }
    stored(tmp_path, "training", runs)
    stored(tmp_path, "exactness", {"compilation": {"seconds_of_jobs": 456.7, "seconds": 60.0}})
    found = {name: text.replace("\n", " ") for name, text in texts(tmp_path).items()}
    assert "| layer_norm by auto | fused | 1,000 | 4.2 ms | 6.5 s | 2.5000 |" in found["training"]
    assert "| layer_norm by reference | reference | 1,000 | 50.0 ms | 6.5 s | – |" in found["training"]
    assert "killed after 310 updates. The next attempt went on from update 300." in found["training"]
    assert "The test value is that of the undisturbed training." in found["training"]
    assert "fused kernels on this device: all" in found["training"]
    assert found["trained"] == "A worker has trained 3 runs on one NVIDIA X1, 2 of them with the kernels."
    assert "it tried 15 pairs and claimed its first run after 123 s" in found["trial"]
    assert "The compilation takes 457 s on one core." in found["trial"]


def test_trial_of_nothing_new_is_not_told_as_a_time(tmp_path: Path) -> None:
    stored(tmp_path, "training", {"trial": {"seconds_to_claim": 3.0, "tried": 0, "verdicts": {}, "line": None}})
    assert texts(tmp_path) == {}


def test_other_value_after_a_kill_is_told(tmp_path: Path) -> None:
    killed = trained("fused", killed_at=310, resumed_from_step=None, attempt=2, value=2.6)
    stored(tmp_path, "training", {"layer_norm by auto": trained("fused"), "killed worker": killed})
    found = texts(tmp_path)["training"].replace("\n", " ")
    assert "The next attempt began anew. The test value differs from that of the undisturbed training." in found


def test_memory_tells_ratios_and_predictions_that_are_too_high(tmp_path: Path) -> None:
    mib = 1 << 20
    step = {
        **{"cell": "gru", "precision": "float32", "shape": SHAPES[0], "theirs": 10 * mib},
        **{"kernels": {"none": 15 * mib}, "reference": {"none": 60 * mib}},
    }
    trainings = {
        "training: small": {"predicted": 4 * mib, "peak": 5 * mib, "kernel": "fused"},
        "training: large": {"predicted": 8 * mib, "peak": 6 * mib, "kernel": "fused"},
    }
    stored(tmp_path, "memory", {"step": step, **trainings})
    found = texts(tmp_path)["memory"]
    assert "| GRU, float32, 784,100,1,100 | 10 MiB | 1.50 (4.0) |" in found
    assert "| small (fused) | 4.0 MiB | 5.0 MiB | 1.25 |" in found
    assert "too high, for: large." in found.replace("\n", " ")
