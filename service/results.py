"""What a run's end brings about beyond the run itself. Its result and all that is computed from it change in one
transaction, so that nobody sees the one without the other.
"""

from sqlalchemy.orm import Session

from normcore.events import Analysed, Outcome, Result
from service.experiments import lifecycle
from service.experiments.lifecycle import Lease
from service.leaderboards import entries


def finish(session: Session, lease: Lease, outcome: Outcome, result: Result) -> None:
    """The training is complete: the run succeeds, and its leaderboard entry is computed anew.

    Raises:
        LeaseLost: the run has moved on.
    """
    lifecycle.finish(session, lease, outcome, result)
    entries.add(session, lease.run_id)


def finish_analysis(session: Session, lease: Lease, analysed: Analysed) -> None:
    """The analysis is complete: the run succeeds.

    Raises:
        LeaseLost: the run has moved on.
    """
    lifecycle.finish_analysis(session, lease, analysed)
