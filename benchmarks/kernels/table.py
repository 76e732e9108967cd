"""Markdown tables of the measurements."""

from collections.abc import Sequence

from benchmarks.kernels.measuring import METHODS, Times, geometric_mean

FLOORS = {"lstm": (1.1, 1.25), "gru": (1.3, 1.6), "rnn": (1.3, 1.6)}
"""Largest allowed time of a training step, relative to ``torch.nn``: geometric mean of the shapes, and any shape."""
EVALUATION, REFERENCE, MEMORY = 1.2, 2.3, 1.25


def table(times: Sequence[Times], limit: float) -> str:
    """Table with one row for each shape and method.

    Args:
        limit: floating-point operations per second of the fastest product.
    """
    head = (
        "shape",
        "method",
        "step",
        "/ torch.nn",
        "of pairs",
        "evaluation",
        "/ torch.nn",
        "reference / step",
        "kept / torch.nn",
        "products alone / step",
    )
    rows = [head, tuple("---" for _ in head), *(_cells(t, limit) for t in times)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _cells(t: Times, limit: float) -> tuple[str, ...]:
    return (
        str(t.shape),
        t.method,
        f"{t.train * 1e3:.1f} ms",
        f"{t.train / t.theirs_train:.2f}",
        f"{min(t.pairs):.2f} to {max(t.pairs):.2f}",
        f"{t.evaluate * 1e3:.1f} ms",
        f"{t.evaluate / t.theirs_evaluate:.2f}",
        f"{t.reference / t.train:.1f}",
        f"{t.kept / t.theirs_kept:.2f}",
        f"{t.shape.products(t.cell, training=True) / limit / t.train:.2f}",
    )


def verdicts(cell: str, times: Sequence[Times]) -> str:
    """Table with one row for each method: its figures over all shapes. The head has the floors."""
    mean, most = FLOORS[cell]
    head = (
        "method",
        f"step / torch.nn, mean (floor {mean})",
        f"worst ({most})",
        f"evaluation, worst ({EVALUATION})",
        f"reference / step, least ({REFERENCE})",
        f"kept, worst ({MEMORY})",
    )
    rows = [head, tuple("---" for _ in head)]
    for method in METHODS:
        of_method = [t for t in times if t.method == method]
        ratios = [t.train / t.theirs_train for t in of_method]
        rows.append(
            (
                method,
                f"{geometric_mean(ratios):.2f}",
                f"{max(ratios):.2f}",
                f"{max(t.evaluate / t.theirs_evaluate for t in of_method):.2f}",
                f"{min(t.reference / t.train for t in of_method):.1f}",
                f"{max(t.kept / t.theirs_kept for t in of_method):.2f}",
            )
        )
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)
