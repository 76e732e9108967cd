"""Certificate of a run's seconds: the times of the reference kernel show whether the run was alone on its machine."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from normcore.events import Timing
from service.db import rows_of
from service.experiments.machines import Start
from service.experiments.tables import Run
from service.statistics import certificate as statistics

PARTS = ("training", "evaluation", "data", "compile", "warm_up")
EARLIER_RUNS = 500  # of a machine, the newest


@dataclass(frozen=True, slots=True)
class Certificate:
    """Certificate of a run, with the evidence.

    Attributes:
        contended: whether something else ran on the machine, or nobody can tell. Then the run's seconds mean nothing.
        reason: why the run is contended; None if it is not.
        machine: host, processor and threads.
        before, after: median seconds of the reference kernel, just before and just after the run.
        quiet: seconds of the reference kernel on this machine when nothing else runs.
        kernel_ratio: the slower of ``before`` and ``after``, divided by ``quiet``.
        windows: number of windows between evaluations, without the first.
        slow_share: share of windows that took far longer than the median window; null if there are fewer than five.
        moved: whether the run changed its machine.
    """

    contended: bool
    reason: str | None
    machine: str
    before: float
    after: float
    quiet: float
    kernel_ratio: float
    windows: int
    slow_share: float | None
    moved: bool


def build_certificate(session: Session, start: Start, timing: Timing) -> Certificate:
    """Build the certificate of a run that has just ended."""
    found = statistics.certificate(start.probe, timing.probe, earlier_medians(session, start), timing.windows)
    return Certificate(
        contended=found.contended or start.moved,
        reason=_reason(found, start.moved),
        machine=start.machine,
        before=found.before,
        after=found.after,
        quiet=found.quiet,
        kernel_ratio=found.kernel_ratio,
        windows=len(timing.windows[1:]),
        slow_share=found.slow_share,
        moved=start.moved,
    )


def earlier_medians(session: Session, start: Start) -> Sequence[float]:
    """Median times of the reference kernel in the machine's newest runs, with the same version of torch."""
    run = rows_of(Run).c
    certificate = run.timing["certificate"]
    found = session.execute(
        select(certificate["before"].as_float(), certificate["after"].as_float())
        .where(run.machine == start.machine, run.environment["torch"].as_string() == start.torch)
        .order_by(run.id.desc())
        .limit(EARLIER_RUNS)
    )
    return [median for medians in found for median in medians]


def convert_timing(timing: Timing, certificate: Certificate) -> Mapping[str, object]:
    """Seconds of a run as its row stores them: by purpose, and with their certificate."""
    return {**{part: getattr(timing, part) for part in PARTS}, "certificate": asdict(certificate)}


def _reason(found: statistics.Certificate, moved: bool) -> str | None:
    if moved:
        return "the run continued on another machine"
    if found.kernel_ratio > statistics.MAX_KERNEL_RATIO:
        return f"the reference kernel took {found.kernel_ratio:.2f} times as long as on this machine when it is quiet"
    if found.contended:
        return f"{found.slow_share:.0%} of its windows between evaluations took far longer than the others"
    return None
