"""Reference pages of methods, cells, tasks and metrics, written from their classes of options."""

from collections.abc import Iterator

from guide.reference.markdown import HTML, code, joined, options, prose, table
from normcore.papers import find_published_results
from normcore.spec import TASKS
from normcore.spec.cells import CELLS
from normcore.spec.methods import METHODS
from normcore.spec.metric import OF_EVERY_TASK, Metric
from normcore.spec.tasks import BENCHMARKS
from service.catalogue import descriptions
from service.catalogue.equations import latex_of


def methods() -> str:
    """Markdown of the page of methods."""
    parts = [_method(name) for name in METHODS.ours]
    return joined(
        "# Methods",
        "In the equations \\(a\\) are the summed inputs of a layer, \\(\\gamma\\) is the gain and \\(\\beta\\) the"
        " shift.",
        "The [report card](../use/report-cards.md) of a method is measured on your machines, so it is not on this page."
        " `normbench report-card METHOD` measures it and shows it. The service then shows it at `/methods/METHOD`.",
        *parts,
    )


def _method(name: str) -> str:
    shown, kind = descriptions.method(name), METHODS[name]
    return joined(
        f"## {name}",
        f"**{shown.title}.** {prose(shown.description)}",
        latex_of(kind),
        f"Source: {shown.citation.translate(HTML)}",
        f"It can stand at: {', '.join(map(code, shown.takes)) or 'no place'}. Cells: {_listed(shown.cells)}."
        f" Other models: {_listed(shown.models)}.",
        options(kind.model_json_schema(), without=("method",)),
    )


def cells() -> str:
    """Markdown of the page of cells."""
    parts = [
        joined(
            f"## {name}",
            prose(kind.__doc__),
            latex_of(kind),
            f"A method can stand at: {', '.join(map(code, sorted(kind.places)))};"
            f" unless a spec says otherwise it stands at {', '.join(map(code, kind.usual))}.",
            options(kind.model_json_schema(), without=("cell",)),
        )
        for name, kind in CELLS.ours.items()
    ]
    return joined(
        "# Cells",
        "In the equations \\(N\\) is the method that stands at a place; where none stands there, \\(N(a) = a\\).",
        *parts,
    )


def tasks() -> str:
    """Markdown of the page of tasks and analyses."""
    trained = [_task(name) for name in TASKS if name in BENCHMARKS.ours]
    analyses = [_task(name) for name in TASKS if name not in BENCHMARKS]
    return joined(
        "# Tasks",
        "A task is a benchmark with a board, or an analysis without training.",
        "## Benchmarks",
        *trained,
        "## Analyses",
        *analyses,
    )


def _task(name: str) -> str:
    shown = descriptions.task(name)
    sizes = table(
        ("profile", "what for", "updates", "parameters"),
        (
            (
                code(profile),
                prose(size.description),
                f"{size.cost.updates:,}" if size.cost else "",
                f"{size.cost.parameters:,}" if size.cost else "",
            )
            for profile, size in shown.profiles.items()
        ),
    )
    papers = sorted({result.citation for result in find_published_results(name)})
    return joined(
        f"### {name}",
        f"**{shown.title}.** {prose(shown.description)}",
        f"Source: {shown.citation.translate(HTML)}",
        f"Metrics, the first of which ranks: {_listed([metric.name for metric in shown.metrics])}."
        if shown.metrics
        else "",
        f"Published numbers: {'; '.join(papers)}." if papers else "",
        sizes,
        options(shown.options, without=("name", "profile")),
    )


def metrics() -> str:
    """Markdown of the page of metrics."""
    rows = [
        (
            code(metric.name),
            metric.unit or "none",
            "more" if metric.direction == "maximize" else "less",
            metric.limits,
            metric.no_skill or "",
            ", ".join(used),
        )
        for metric, used in _used()
    ]
    return joined(
        "# Metrics",
        "A series is a split and a metric: `valid.accuracy` is the metric `accuracy` on the validation data."
        " Shares, such as accuracies and recalls, are numbers between 0 and 1.",
        table(("metric", "unit", "better is", "can be", "without skill", "tasks"), rows),
    )


def _used() -> Iterator[tuple[Metric, list[str]]]:
    """Yield each metric with the names of the tasks that measure it."""
    for metric in OF_EVERY_TASK:
        yield metric, ["every task"]
    found: dict[Metric, list[str]] = {}
    for name, task in BENCHMARKS.ours.items():
        for metric in task.metrics:
            if metric not in OF_EVERY_TASK:
                found.setdefault(metric, []).append(name)
    yield from found.items()


def _listed(names: list[str]) -> str:
    return ", ".join(map(code, names)) or "none"
