"""Printed figures: sharp, in the width that was asked for, with their fonts, readable in black and white."""

import re
import struct
import sys
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import matplotlib
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Drawing
from matplotlib.text import Text

from normcore.figures import Figure
from normcore.figures.attention import attention
from normcore.figures.budget import Budget, budgets
from normcore.figures.confusion import confusion_matrix
from normcore.figures.curves import curves
from normcore.figures.film import film
from normcore.figures.gradients import Flow, gradients
from normcore.figures.intervals import Interval, intervals
from normcore.figures.method_curves import MethodLine, method_curves
from normcore.figures.profiles import ProfileCurve, profiles
from normcore.figures.seed_curves import SeedLine, seed_curves
from service.errors import Invalid, NotInstalled, Unavailable
from service.paper.axes import wrap_name
from service.paper.drawing import MOST_ROWS, draw
from service.paper.printing import MOST_AT_ONCE, SETTINGS, WAITING, PrintFormat, print_figure

LONG = "recurrent_batch_norm (gain_init 0.1, hidden_size 400, lr 0.001, training.eval_every 1000)"
STEPS = [float(k) for k in range(0, 1000, 20)]


def line(name: str, method: str = "layer_norm", diverged: int = 0) -> MethodLine:
    means = [1 - 1 / (1 + step / 100) for step in STEPS]
    low, high = [mean - 0.02 for mean in means], [mean + 0.02 for mean in means]
    return MethodLine(name, method, STEPS, means, low, high, seeds=5, diverged=diverged)


def curves_of(*lines: MethodLine) -> Figure:
    return method_curves(lines, "light", title="t", x="training steps", y="accuracy", target=0.8, percent=True)


def rows_of(names: list[str], **parts: Any) -> Figure:
    rows = [Interval(name, "rms_norm", 0.9, (0.88, 0.92), dots=(0.89, 0.91)) for name in names]
    return intervals(rows, "light", title="t", x="test accuracy", line=0.5, percent=True, **parts)


KINDS: dict[str, Figure] = {
    "curves": curves_of(line("layer_norm"), line(LONG, "recurrent_batch_norm"), line("none", "none", diverged=2)),
    "intervals": rows_of(["layer_norm", LONG]),
    "ratios": intervals(
        [Interval("a", "none", 2.0, (1.5, 3.0))], "light", title="", x="times sooner", line=1.0, log=True
    ),
    "profiles": profiles([ProfileCurve("none", [(1, 0.5), (2, 1)]), ProfileCurve("rms_norm", [(1, 1)])], "light"),
    "gradients": gradients([Flow(f"gain {g}", [(t, g**t) for t in range(1, 64)]) for g in (0.5, 1.5)], "none", "light"),
    "budget": budgets([Budget("none", [(1, 0.5, 0.4, 0.6), (2, 0.6, 0.5, 0.7)])], [2], "light", title="", y="accuracy"),
    "panels": curves({"train.loss": [(0, 2), (9, 1)], "valid.accuracy": [(0, 0.1), (9, 0.9)]}, "run", diverged=True),
    "seeds": seed_curves(
        [SeedLine("seed 0", STEPS, STEPS)], SeedLine("mean", STEPS, STEPS), "none", "light", x="x", y="y", target=None
    ),
    "film": film([[[0.0, 1.0], [1.0, 0.0]]], "t", "glimpse"),
    "attention": attention([[0.5, 0.5]] * 60, [f"word {k}" for k in range(60)], "t", "step", "token"),
    "confusion": confusion_matrix([[9, 1], [2, 8]], ["cat", "dog"], "t"),
}


def drawn(figure: Figure, width: float = 3.25) -> Drawing:
    with matplotlib.rc_context():
        matplotlib.rcParams.update(SETTINGS)  # type: ignore[arg-type]
        drawing = draw(figure, width)
        FigureCanvasAgg(drawing).draw()  # type: ignore[no-untyped-call]
        return drawing


@pytest.mark.parametrize("kind", KINDS)
def test_no_text_is_cut_off_and_no_legend_covers_data(kind: str) -> None:
    drawing = drawn(KINDS[kind])
    page = drawing.bbox.padded(1)
    for text in _texts(drawing):
        box = text.get_window_extent()
        assert page.contains(box.x0, box.y0), text.get_text()
        assert page.contains(box.x1, box.y1), text.get_text()
    for legend in drawing.legends:
        assert not any(legend.get_window_extent().overlaps(axes.bbox) for axes in drawing.axes)


def _texts(drawing: Drawing) -> Iterator[Text]:
    """Texts of a drawing, with the names of rows; not the numbers at ticks, of which some are not shown."""
    for axes in drawing.axes:
        yield from (axes.xaxis.label, axes.yaxis.label, *axes.texts)
        if axes.yaxis_inverted() and axes.yaxis.get_visible():
            yield from axes.get_yticklabels()
    for legend in drawing.legends:
        yield from legend.get_texts()


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_figure_is_printed(kind: str) -> None:
    assert print_figure(KINDS[kind], "pdf", 3.25).startswith(b"%PDF-")


def test_an_svg_has_its_width_and_letters_without_fonts() -> None:
    content = print_figure(KINDS["curves"], "svg", 3.25).decode()
    assert re.search(r'<svg [^>]*width="234pt"', content)
    assert "<text" not in content
    assert "<dc:date>" not in content


def test_a_pdf_has_its_width_one_page_and_its_fonts() -> None:
    content = print_figure(KINDS["curves"], "pdf", 3.25)
    assert re.search(rb"/MediaBox \[ 0 0 234 [0-9.]+ \]", content)
    assert content.count(b"/Type /Page ") == 1
    text = b"".join(zlib.decompress(part) for part in re.findall(rb"stream\n(.*?)\nendstream", content, re.DOTALL)[:1])
    assert text
    assert b"/FontFile2" in content, "TrueType, in full"
    assert b"/CreationDate" not in content


def test_a_png_has_300_dots_an_inch() -> None:
    content = print_figure(KINDS["curves"], "png", 3.25)
    assert struct.unpack(">I", content[16:20]) == (975,)
    at = content.index(b"pHYs")
    assert struct.unpack(">IIB", content[at + 4 : at + 13]) == (11811, 11811, 1)


@pytest.mark.parametrize("format", ["svg", "pdf", "png"])
def test_the_same_figure_gives_the_same_bytes_also_in_several_threads(format: PrintFormat) -> None:
    alone = print_figure(KINDS["curves"], format, 3.25)
    with ThreadPoolExecutor(3) as threads:
        assert set(threads.map(lambda _: print_figure(KINDS["curves"], format, 3.25), range(3))) == {alone}


def test_lines_differ_without_colour() -> None:
    lines = [line(f"layer_norm (lr {k})") for k in range(6)]
    axes = drawn(curves_of(*lines)).axes[0]
    named = [one for one in axes.lines if not str(one.get_label()).startswith("_")]
    looks = {(repr(one.get_linestyle()), repr(one._dash_pattern), one.get_marker()) for one in named}  # type: ignore[attr-defined]
    assert len(looks) == len(named) == 6


def test_texts_are_no_mathematics_and_no_markup() -> None:
    name = r"$\frac{1}{x$ <script>alert(1)</script> & $ \$"
    content = print_figure(curves_of(line(name), line("b")), "svg", 6.5).decode()
    assert "<script>" not in content
    drawing = drawn(curves_of(line(name), line("b")), 9)
    assert drawing.legends[0].get_texts()[0].get_text() == name.replace("$", r"\$")


def test_a_figure_of_very_many_rows_fits_a_page_and_says_how_many_are_missing() -> None:
    drawing = drawn(rows_of([f"m{k}" for k in range(500)]))
    assert drawing.get_size_inches()[1] < 10
    assert len(drawing.axes[0].get_yticks()) == MOST_ROWS
    assert drawing.axes[0].get_xlabel() == f"test accuracy\n(the first {MOST_ROWS} of 500 rows)"
    long = drawn(rows_of([f"{LONG} {k}" for k in range(500)]))
    assert long.get_size_inches()[1] < 10
    assert "of 500 rows" in long.axes[0].get_xlabel()


def test_a_kind_of_trace_that_only_pages_draw_is_refused() -> None:
    figure = {"data": [{"type": "parcoords"}], "layout": {"xaxis": {}, "yaxis": {}}}
    with pytest.raises(Invalid, match="format: this figure has traces of type parcoords"):
        print_figure(figure, "svg", 3.25)


def test_a_figure_that_is_none_is_refused() -> None:
    for data in ([{"x": [1, 2], "y": [1]}], [{"type": "heatmap", "z": "no"}], [{"y": [1]}], ["no"]):
        with pytest.raises(Invalid, match="format: this figure cannot be printed"):
            print_figure({"data": data, "layout": {"xaxis": {}, "yaxis": {}}}, "svg", 3.25)


def test_without_matplotlib_the_refusal_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(NotInstalled, match=r"pip install 'normbench\[paper\]'"):
        print_figure(KINDS["curves"], "svg", 3.25)


def test_more_figures_than_the_service_can_print_soon_are_refused() -> None:
    for _ in range(MOST_AT_ONCE):
        WAITING.acquire()
    try:
        with pytest.raises(Unavailable, match="8 figures are being printed"):
            print_figure(KINDS["curves"], "svg", 3.25)
    finally:
        WAITING.release(MOST_AT_ONCE)


def test_columns_of_a_heat_map_have_their_own_numbers() -> None:
    [axes, _] = drawn(attention([[0.1, 0.9]], ["word"], "t", "step", "token")).axes
    assert axes.get_xlim() == (0.5, 2.5), "steps 1 and 2"


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("recurrent_batch_norm (lr 0.001)", ["recurrent_batch_norm", "(lr 0.001)"]),
        ("layer_norm (batch_size 32, lr 0.001)", ["layer_norm (batch_size 32,", "lr 0.001)"]),
        ("rms_norm", ["rms_norm"]),
        ("", [""]),
    ],
)
def test_the_name_of_a_row_does_not_break_between_an_option_and_its_value(name: str, lines: list[str]) -> None:
    assert wrap_name(name, 26).split("\n") == lines
