"""Consequences of a run's end. Its result and all that is computed from it change in one transaction, so that no
reader sees one without the other.
"""

from sqlalchemy.orm import Session

from normcore.events import Analysed, Outcome, Result, Timing
from service.experiments import certificates, lifecycle
from service.experiments.lifecycle import Lease
from service.experiments.machines import Start
from service.leaderboards import entries


def finish(session: Session, lease: Lease, outcome: Outcome, result: Result, timing: Timing, start: Start) -> None:
    """The training is complete: the run succeeds, its seconds are certified, and its leaderboard entry is computed
    anew.

    Args:
        start: what the attempt began on, and those before it.

    Raises:
        LeaseLost: the run has moved on.
    """
    certificate = certificates.certified(session, start, timing)
    stored = certificates.stored(timing, certificate)
    lifecycle.finish(session, lease, outcome, result, timing=stored, machine=certificate.machine)
    entries.add(session, lease.run_id)


def finish_analysis(session: Session, lease: Lease, analysed: Analysed) -> None:
    """The analysis is complete: the run succeeds.

    Raises:
        LeaseLost: the run has moved on.
    """
    lifecycle.finish_analysis(session, lease, analysed)
