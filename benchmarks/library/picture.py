"""Picture of the benchmark: bars of a training step's time, divided by that of ``nn.LSTM``, for each shape."""

from collections.abc import Mapping, Sequence
from html import escape

from benchmarks.kernels.contestants import Shape
from benchmarks.library.measuring import PRODUCTS, Panel, Row
from normcore.figures.figure import PALETTE, THEMES
from normcore.figures.styles import style_of

LABELS = {
    "none": "ours, no norm",
    "layer_norm": "ours, layer norm",
    "rms_norm": "ours, RMS norm",
    "recurrent_batch_norm": "ours, batch norm",
    "loop": "Python loop",
    "compiled cell": "compiled cell",
    "scripted loop": "scripted loop",
    "haste": "Haste, on a CPU",
    "flashrnn": "FlashRNN, on a CPU",
}
"""Words for the contestants, in the order of the bars."""
OURS = ("none", "layer_norm", "rms_norm", "recurrent_batch_norm")
OTHERS = PALETTE[-1]
WIDTH, MARGIN, LABEL = 480, 12, 136  # the drawing, its border, and the room of the labels
VALUE = 34  # room of a number behind the longest bar
LONGEST = 4.0  # ratio at which bars are cut, so that one slow contestant does not shrink all others
BAR, LINE = 11, 15  # a bar, and the distance of two bars
HEADING, GAP = 20, 14  # the name of a shape, and the room between two shapes
TITLE = 46
FONT = 12
COLOURS: Mapping[str, str] = THEMES["light"]
HALO = f'stroke="{COLOURS["ground"]}" stroke-width="4" stroke-linejoin="round" paint-order="stroke"'
"""Border around a number, so that it can be read on the line."""


def svg(panels: Sequence[Panel]) -> bytes:
    """Draw the panels below each other, on white. The bytes depend on the numbers alone."""
    left, right = MARGIN + LABEL, WIDTH - MARGIN - VALUE
    longest = max(ratio for panel in panels for row in panel.rows for ratio in _bars(row).values())
    scale = (right - left) / min(longest, LONGEST)
    parts, y = [], MARGIN
    for panel in panels:
        lines, y = _panel(panel, left, scale, y)
        parts += lines
    height = y - GAP + MARGIN
    threads = " and ".join(_threads(panel.threads) for panel in panels)
    title = f"Time of a training step with {threads}, divided by that of nn.LSTM, for each shape"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}"'
            f' viewBox="0 0 {WIDTH} {height}" role="img"'
            f' font-family="sans-serif" font-size="{FONT}" fill="{COLOURS["text"]}">',
            f"<title>{escape(title)}</title>",
            f'<rect width="{WIDTH}" height="{height}" fill="{COLOURS["ground"]}"/>',
            *parts,
            "</svg>\n",
        ]
    ).encode()


def name_of(shape: Shape) -> str:
    """Name a shape in words: ``784 steps, batch 100, 1 input, 100 units``."""
    return (
        f"{_count(shape.steps, 'step')}, batch {shape.batch}, {_count(shape.inputs, 'input')},"
        f" {_count(shape.hidden, 'unit')}"
    )


def _panel(panel: Panel, left: float, scale: float, top: int) -> tuple[list[str], int]:
    """Draw a panel from ``top`` on; return its elements and where it ends."""
    heading = f"Time of a training step of an LSTM, {_threads(panel.threads)}"
    parts = [
        _text(MARGIN, top + FONT, heading, 'font-weight="bold"'),
        _text(left + scale, top + TITLE - 10, "nn.LSTM = 1", 'text-anchor="middle"'),
    ]
    y = top + TITLE
    for row in panel.rows:
        parts.append(_text(MARGIN, y + FONT, name_of(row.shape), 'font-weight="bold"'))
        lines, y = _group(row, left, scale, y + HEADING)
        parts += lines
        y += GAP
    return parts, y


def _group(row: Row, left: float, scale: float, top: int) -> tuple[list[str], int]:
    """Draw the bars of a shape, then the line at 1, then the words, which stand out from the line."""
    bars, words, y = [], [], top
    for name, ratio in _bars(row).items():
        colour = style_of(name).light if name in OURS else OTHERS
        length, low = min(ratio, LONGEST) * scale, y + BAR - 1
        bars.append(f'<rect x="{left}" y="{y}" width="{length:.1f}" height="{BAR}" fill="{colour}"/>')
        words.append(_text(left - 6, low, LABELS.get(name, name), 'text-anchor="end"'))
        words.append(_text(left + length + 4, low, f"{ratio:.2f}", HALO))
        y += LINE
    line = f'<path d="M{left + scale:.1f} {top - 2}V{y}" stroke="{COLOURS["text"]}" stroke-dasharray="3 3"/>'
    return [*bars, line, *words], y


def _bars(row: Row) -> dict[str, float]:
    """Ratios of the contestants that are drawn, in the order of the bars."""
    known = [name for name in LABELS if name in row.ratios]
    others = [name for name in row.ratios if name not in LABELS and name != PRODUCTS]
    return {name: row.ratios[name] for name in [*known, *others]}


def _text(x: float, y: float, text: str, attributes: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {attributes}>{escape(text)}</text>'.replace(" >", ">")


def _threads(count: int) -> str:
    return _count(count, "thread")


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
