"""Tables of the parts ``speed`` and ``rnn``: our cells beside cuDNN's and beside the reference."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from benchmarks.gpu_day.text import CELLS, MISSING, device_of, origin, paragraph, table
from benchmarks.kernels.contestants import Shape
from benchmarks.kernels.measuring import METHODS, SHAPES, Times, geometric_mean
from benchmarks.kernels.table import table as table_of_all_columns

Content = Mapping[str, Any]
NAMES = {"float32": "float32", "bfloat16": "under autocast to bfloat16"}
ORDER = (*METHODS, "sequence_batch_norm")
Group = tuple[str, str, list[Times]]
"""Cell, precision, and times at all shapes by all methods."""


def groups(*contents: Content) -> list[Group]:
    """Group the times of all contents by cell and precision."""
    found: dict[tuple[str, str], list[Times]] = {}
    for content in contents:
        for times in map(_times, _timed(content)):
            found.setdefault((times.cell, times.setting), []).append(times)
    return [(cell, precision, sorted(times, key=_place)) for (cell, precision), times in found.items()]


def _place(times: Times) -> int:
    """Place of a shape in its tables. Tried again, a measurement is the last in its file."""
    return SHAPES.index(times.shape) if times.shape in SHAPES else len(SHAPES)


def _methods(times: Iterable[Times]) -> list[str]:
    found = {t.method for t in times}
    return [method for method in ORDER if method in found]


def _timed(content: Content) -> Iterator[Mapping[str, Any]]:
    return (found for found in content["measured"].values() if "theirs_train" in found)


def _times(found: Mapping[str, Any]) -> Times:
    plain = {name: value for name, value in found.items() if name != "seconds"}
    return Times(**{**plain, "shape": Shape(*found["shape"]), "pairs": tuple(found["pairs"])})


def steps_of(part: str) -> Callable[[Mapping[str, Content]], str | None]:
    """Make the function that writes all tables of a part."""

    def write(results: Mapping[str, Content]) -> str | None:
        content = results[part]
        found = groups(content)
        if not found:
            return None
        cells = ", ".join(dict.fromkeys(CELLS[cell] for cell, _, _ in found))
        texts = [f"### {cells} beside cuDNN: {device_of(content)}", origin(content), HOW_TO_READ]
        for group in found:
            texts += [_steps(*group), _evaluations(*group)]
        return "\n\n".join([*texts, *_rounding(content), *map(_verdict, found)])

    return write


HOW_TO_READ = paragraph(
    "Each number is our time, divided by the time of cuDNN's cell without norm, which does not round to TF32.",
    "In brackets: how many times as fast as the reference. Numbers are medians, measured in turns.",
)


def _steps(cell: str, precision: str, times: Sequence[Times]) -> str:
    def tell(t: Times) -> str:
        return f"{t.train / t.theirs_train:.2f} ({t.reference / t.train:.1f})"

    head = f"{CELLS[cell]}, {NAMES[precision]}: a training step"
    return _by_shape(head, times, lambda t: t.theirs_train, tell, lambda t: t.train / t.theirs_train)


def _evaluations(cell: str, precision: str, times: Sequence[Times]) -> str:
    def ratio(t: Times) -> float:
        return t.evaluate / t.theirs_evaluate

    head = f"{CELLS[cell]}, {NAMES[precision]}: evaluation"
    return _by_shape(head, times, lambda t: t.theirs_evaluate, lambda t: f"{ratio(t):.2f}", ratio)


def _by_shape(
    head: str,
    times: Sequence[Times],
    theirs: Callable[[Times], float],
    tell: Callable[[Times], str],
    ratio: Callable[[Times], float],
) -> str:
    methods = _methods(times)
    by = {(t.shape, t.method): t for t in times}
    rows = []
    for shape in dict.fromkeys(t.shape for t in times):
        of_shape = [by.get((shape, method)) for method in methods]
        first = next(t for t in of_shape if t is not None)
        told = [MISSING if t is None else tell(t) for t in of_shape]
        rows.append([str(shape), f"{theirs(first) * 1e3:.1f} ms", *told])
    means = [_mean([t for t in times if t.method == method], ratio) for method in methods]
    rows.append([f"geometric mean of {len(SHAPES)} shapes", "", *means])
    return table([f"{head}, (T,B,F,H)", "cuDNN", *methods], rows)


def _mean(times: Sequence[Times], ratio: Callable[[Times], float]) -> str:
    """Tell the geometric mean, if all shapes were measured."""
    return f"{geometric_mean([ratio(t) for t in times]):.2f}" if len(times) == len(SHAPES) else MISSING


def _rounding(content: Content) -> list[str]:
    found = [one for one in content["measured"].values() if "rounded" in one]
    if not found:
        return []
    shapes = list(dict.fromkeys(Shape(*one["shape"]) for one in found))
    by = {(one["cell"], Shape(*one["shape"])): f"{one['exact'] / one['rounded']:.2f}" for one in found}
    rows = [
        [CELLS[c], *(by.get((c, shape), MISSING) for shape in shapes)] for c in dict.fromkeys(o["cell"] for o in found)
    ]
    return [table(["cuDNN's step without TF32 / with TF32", *map(str, shapes)], rows)]


def _verdict(group: Group) -> str:
    """Say at how many shapes each method is faster than cuDNN, and how much slower at worst."""
    cell, precision, times = group
    told = []
    for method in _methods(times):
        ratios = [t.train / t.theirs_train for t in times if t.method == method]
        faster = sum(ratio < 1 for ratio in ratios)
        told.append(f"{method} {faster} of {len(ratios)} (worst {max(ratios):.2f})")
    return paragraph(
        f"{CELLS[cell]}, {NAMES[precision]}: shapes where a step takes less time than cuDNN's: {', '.join(told)}."
    )


def summary(results: Mapping[str, Content]) -> str | None:
    """Write one row for each cell and precision: the means of the six shapes by method."""
    found, rows = groups(*results.values()), []
    methods = _methods(t for *_, times in found for t in times)
    for cell, precision, times in found:
        means = [_mean([t for t in times if t.method == m], lambda t: t.train / t.theirs_train) for m in methods]
        rows.append([f"{CELLS[cell]}, {NAMES[precision]}", *means])
    if not rows:
        return None
    first = next(iter(results.values()))
    what = "Time of a training step, divided by cuDNN's without norm: geometric means of six shapes."
    return "\n\n".join(
        [
            f"### On an {device_of(first)}",
            f"`python -m benchmarks.gpu_day`: {origin(first)}",
            what,
            table(["", *methods], rows),
        ]
    )


def all_rows(results: Mapping[str, Content]) -> str | None:
    """Write tables with all columns."""
    measured = {name: found for content in results.values() for name, found in content["measured"].items()}
    texts = []
    for cell, precision, times in groups(*results.values()):
        limit = measured.get(f"best product, {precision}", {}).get("rate", float("nan"))
        texts += [f"### {CELLS[cell]}, {NAMES[precision]}", table_of_all_columns(times, limit)]
    first = next(iter(results.values()))
    return (
        "\n\n".join([f"## An {device_of(first)}, `python -m benchmarks.gpu_day`", origin(first), *texts])
        if texts
        else None
    )


def library(results: Mapping[str, Content]) -> str | None:
    """Write the means of an LSTM in float32, without what a layer adds to a call of its kernel."""
    means = _means_of_lstm(results["speed"])
    if not means:
        return None
    device = device_of(results["speed"])
    told = (
        f"On one {device}, in float32, as means of the six shapes (the kernels alone, without the layer's own calls):"
    )
    return f"{paragraph(told)}\n\n" + table(
        ["layer", "time, divided by that of cuDNN's `torch.nn.LSTM`"],
        [["without norm" if method == "none" else f"`{method}`", mean] for method, mean in means.items()],
    )


def sentence(results: Mapping[str, Content]) -> str | None:
    """Write the means of an LSTM in float32 as a sentence."""
    means = _means_of_lstm(results["speed"])
    if not means:
        return None
    told = ", ".join(f"{mean} (`{method}`)" for method, mean in means.items())
    return paragraph(
        f"On one {device_of(results['speed'])}, an LSTM in float32 takes {told} times as long as cuDNN's",
        "without normalization, in the mean of six shapes.",
    )


def _means_of_lstm(content: Content) -> dict[str, str]:
    """Tell the means of an LSTM in float32 by method; nothing unless all shapes were measured."""
    found = [times for cell, precision, times in groups(content) if (cell, precision) == ("lstm", "float32")]
    times = found[0] if found else []
    means = {m: _mean([t for t in times if t.method == m], lambda t: t.train / t.theirs_train) for m in _methods(times)}
    return {} if MISSING in means.values() else means
