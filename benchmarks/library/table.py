"""Markdown table of the numbers of a panel."""

from benchmarks.library.measuring import OF_TORCH, PRODUCTS, Panel

MISSING = "–"


def table(panel: Panel) -> str:
    """Table with a row for each shape, and the geometric mean and the worst of all shapes."""
    names = [name for name in dict.fromkeys(name for row in panel.rows for name in row.ratios) if name != PRODUCTS]
    names += [PRODUCTS] if any(PRODUCTS in row.ratios for row in panel.rows) else []
    head = ("shape (T,B,F,H)", OF_TORCH, *names, f"kept / {OF_TORCH}")
    lines = [head, tuple("---" for _ in head)]
    for row in panel.rows:
        told = (_told(row.ratios.get(name)) for name in names)
        lines.append((str(row.shape), f"{1e3 * row.seconds:.1f} ms", *told, f"{row.kept:.2f}"))
    summaries = [panel.summary(name) or (None, None) for name in names]
    for k, name in enumerate(("geometric mean", "worst")):
        lines.append((name, "", *(_told(summary[k]) for summary in summaries), ""))
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _told(ratio: float | None) -> str:
    return MISSING if ratio is None else f"{ratio:.2f}"
