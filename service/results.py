"""End of a run: its result and all that is computed from the result are stored in one transaction, so that no reader
sees one without the other.
"""

from sqlalchemy.orm import Session

from normcore.events import Analysed, Outcome, Result, Timing
from service.experiments import certificates, lifecycle
from service.experiments.lifecycle import Lease
from service.experiments.machines import Start
from service.leaderboards import entries


def finish(session: Session, lease: Lease, outcome: Outcome, result: Result, timing: Timing, start: Start) -> None:
    """Store the end of a training: the run succeeds, its seconds get a certificate, and its leaderboard entry is
    computed again.

    Args:
        start: machine and code on which the attempts of the run began.

    Raises:
        LeaseLost: the run belongs to another attempt, or has ended.
    """
    certificate = certificates.build_certificate(session, start, timing)
    stored = certificates.convert_timing(timing, certificate)
    lifecycle.finish(session, lease, outcome, result, timing=stored, machine=certificate.machine)
    entries.add(session, lease.run_id)


def finish_analysis(session: Session, lease: Lease, analysed: Analysed) -> None:
    """Store the end of an analysis: the run succeeds.

    Raises:
        LeaseLost: the run belongs to another attempt, or has ended.
    """
    lifecycle.finish_analysis(session, lease, analysed)
