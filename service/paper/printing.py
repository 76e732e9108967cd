"""Figures as files for papers: the figures of the pages, drawn by matplotlib in the width of a column.

Texts of PDF are TrueType fonts within the file. Texts of SVG are paths, so no reader of the file needs a font. The same
figure always gives the same bytes.
"""

import logging
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import TYPE_CHECKING, Any, Literal, cast

from normcore.figures import Figure
from normcore.spec import SpecError
from service.errors import Invalid, NotInstalled, Unavailable

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

PrintFormat = Literal["svg", "pdf", "png"]
MISSING = "printing needs matplotlib; on the machine of the service: pip install 'normbench[paper]'"
DOTS = 300  # an inch, of PNG
MOST_AT_ONCE = 8  # figures that are printed or wait for it
LOCK = threading.Lock()  # matplotlib's settings, fonts and parsers are common to all threads
WAITING = threading.BoundedSemaphore(MOST_AT_ONCE)
WITHOUT_DATE: dict[PrintFormat, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}
SETTINGS: dict[str, Any] = {
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "normbench",
    "font.family": ["DejaVu Sans"],
    "font.size": 7,
    "axes.labelsize": 7,
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 6.5,
    "legend.fontsize": 6.5,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.unicode_minus": True,
    "axes.labelpad": 2.5,
    "grid.linewidth": 0.4,
    "grid.color": "#d9d9d9",
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "xtick.minor.size": 1.5,
    "ytick.minor.size": 1.5,
    "xtick.major.pad": 2,
    "ytick.major.pad": 2,
    "hatch.linewidth": 0.5,
    "legend.frameon": False,
}


def print_figure(figure: Figure, format: PrintFormat, width: float) -> bytes:
    """Print a figure of the light theme, in this width in inches.

    Raises:
        Invalid: the figure has a kind of trace that is drawn on pages alone.
        NotInstalled: matplotlib is not installed.
        Unavailable: too many figures wait to be printed.
    """
    try:
        import matplotlib  # here, because it takes half a second, and it is an extra

        from service.paper.drawing import draw
    except ImportError:
        raise NotInstalled(MISSING) from None
    with _turn(), LOCK, matplotlib.rc_context(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a letter that no font has is printed as a box
        logging.getLogger("matplotlib").setLevel(logging.ERROR)
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(cast(Any, SETTINGS))
        target = BytesIO()
        _draw(draw, figure, width).savefig(target, format=format, dpi=DOTS, metadata=WITHOUT_DATE[format])
        return target.getvalue()


def _draw(draw: Callable[[Figure, float], "Drawing"], figure: Figure, width: float) -> "Drawing":
    """Draw a figure. A figure of a user's task may have anything in it."""
    try:
        return draw(figure, width)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        message = f"this figure cannot be printed ({type(error).__name__}: {error}); leave out format"
        raise Invalid([SpecError(("format",), message[:300], "not_printed")]) from error


@contextmanager
def _turn() -> Iterator[None]:
    if not WAITING.acquire(blocking=False):
        raise Unavailable(f"{MOST_AT_ONCE} figures are being printed; try again")
    try:
        yield
    finally:
        WAITING.release()
