"""Assessment of a backend as numbers with targets, as a table of recovery by kind of fault, and as complaints."""

from collections.abc import Sequence

from benchmarks.faults.assessment import Assessment
from benchmarks.faults.scenario import Kind
from benchmarks.number import Number, Target, number, percentile

NONE_AT_ALL = Target("ours", "at most", 0)
KILLS = (Kind.WORKER, Kind.CHILD, Kind.QUIET)
STORM_GOALS = {"cluster": Target("ours", "under", 20)}  # seconds
QUIET_GOALS = {"up": Target("ours", "at most", 3), **STORM_GOALS}
OUTAGES = (Kind.DISK, Kind.BLACK_HOLE, Kind.FROZEN)  # their recovery counts from their end
P50, P95 = percentile(50), percentile(95)


def numbers(name: str, assessment: Assessment, faults: int, least: int) -> list[Number]:
    """Rows of one backend for the table of all benchmarks.

    Args:
        faults: number of faults that were caused.
        least: number of faults that had to be caused.
    """

    def count(what: str, value: int) -> Number:
        return Number(f"faults, {name}: {what}", "", value)

    def none_of(what: str, value: int) -> Number:
        return Number(f"faults, {name}: {what}", "", value, target=NONE_AT_ALL, is_promise=True)

    def seconds_after(*kinds: Kind) -> list[float]:
        return [s for kind in kinds for s in assessment.recoveries.get(kind, []) if s is not None]

    return [
        Number(f"faults, {name}: inflicted", "", faults, target=Target("ours", "at least", least), is_promise=True),
        count("runs accepted", assessment.accepted),
        count("runs succeeded", assessment.succeeded),
        count("runs cancelled", assessment.cancelled),
        none_of("runs failed", len(assessment.failed)),
        none_of("runs lost", len(assessment.lost)),
        none_of("runs doubled", len({what.partition(":")[0] for what in assessment.doubled})),
        none_of("rows missing or different", assessment.rows_wrong),
        none_of("results different", len(assessment.results)),
        none_of("cancelled, but ran on", len(assessment.ran_on)),
        none_of("faults never overcome", sum(s is None for found in assessment.recoveries.values() for s in found)),
        *_recovery(f"{name}: recovery of a killed worker or training", seconds_after(*KILLS), STORM_GOALS.get(name)),
        *_recovery(f"{name}: the same after 15 quiet seconds", seconds_after(Kind.QUIET), QUIET_GOALS[name]),
    ]


def _recovery(what: str, seconds: Sequence[float], goal: Target | None) -> list[Number]:
    if not seconds:
        return []
    return [
        number(f"faults, {what}, p50", "s", seconds, statistic=P50),
        number(f"faults, {what}, p95", "s", seconds, statistic=P95, target=goal),
    ]


def kinds(name: str, assessment: Assessment, injuries: Sequence[Kind], outage: str) -> str:
    """Markdown table with one row for each kind of fault: how often it happened, and the time to recovery.

    Args:
        injuries: the kind of each fault that happened.
        outage: word for how the artifact store was made to fail.
    """
    lines = [f"| {name}: fault | times | runs hit | p50 | p95 | worst |", "|---|---|---|---|---|---|"]
    for kind in dict.fromkeys(sorted(injuries, key=list(Kind).index)):
        found = assessment.recoveries.get(kind, [])
        seconds = [s for s in found if s is not None]
        shown = [f"{value:.1f} s" for value in (P50(seconds), P95(seconds), max(seconds))] if seconds else ["–"] * 3
        if len(seconds) < len(found):
            shown[-1] = f"**never** ({len(found) - len(seconds)} of {len(found)})"
        title = f"artifact disk {outage}" if kind == Kind.DISK else str(kind)
        title += " (from its end)" if kind in OUTAGES else ""
        lines.append(f"| {title} | {injuries.count(kind)} | {len(found)} | {' | '.join(shown)} |")
    return "\n".join(lines)


def complaints(name: str, assessment: Assessment) -> list[str]:
    """One line for each broken promise."""
    return [
        *(f"{name}: failed: {what}" for what in assessment.failed),
        *(f"{name}: lost: {what}" for what in assessment.lost),
        *(f"{name}: doubled: {what}" for what in assessment.doubled),
        *(
            f"{name}: rows: {run_id}: {rows.missing} missing, {rows.different} different, {rows.extra} too many"
            for run_id, rows in assessment.wrong.items()
        ),
        *(f"{name}: result differs: {run_id}" for run_id in assessment.results),
        *(f"{name}: cancelled, but ran on: {run_id}" for run_id in assessment.ran_on),
    ]
