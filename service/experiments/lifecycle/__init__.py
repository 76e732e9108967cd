"""The only package that changes a run's state.

    queued ──claim──▶ running ──finish──▶ succeeded
      ▲  │               │ └────fail────▶ failed
      │  └──cancel──▶ cancelled ◀─confirm_cancel─┘
      └─release, defer, lose (attempt + 1)───────┘ retry: failed, cancelled ──▶ queued (attempt + 1)

``commands`` is for the API; ``claiming``, ``attempt`` and ``returning`` are for the workers; the scheduler uses
``returning`` and ``notifying``. ``lease``, ``history`` and ``states`` are shared by all.

A run that somebody asked to cancel is never queued again: it is cancelled instead. A function that changes several runs
first locks them in the order of their ids, or skips runs that other transactions have locked. So no two transactions
wait for each other.

Nothing here commits; the caller's transaction does. The caller sends notifications after the commit.
"""

from service.experiments.lifecycle.attempt import (
    confirm_cancel,
    fail,
    finish,
    finish_analysis,
    has_succeeded,
    record,
    start,
)
from service.experiments.lifecycle.claiming import ClaimedRun, claim
from service.experiments.lifecycle.commands import cancel, cancel_all, retry, retry_all
from service.experiments.lifecycle.lease import Lease, LeaseLost
from service.experiments.lifecycle.notifying import notify_again
from service.experiments.lifecycle.returning import defer, end_pauses, lose, release, take_back, take_back_from
from service.experiments.lifecycle.states import ENDED, WAITING

__all__ = [
    "ENDED",
    "WAITING",
    "ClaimedRun",
    "Lease",
    "LeaseLost",
    "cancel",
    "cancel_all",
    "claim",
    "confirm_cancel",
    "defer",
    "end_pauses",
    "fail",
    "finish",
    "finish_analysis",
    "has_succeeded",
    "lose",
    "notify_again",
    "record",
    "release",
    "retry",
    "retry_all",
    "start",
    "take_back",
    "take_back_from",
]
