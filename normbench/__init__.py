"""Client of the service: ``from normbench import Client`` in Python, ``normbench`` in a shell.

The client speaks HTTP only. Of our own packages it imports only ``normcore.spec``, ``normcore.data`` and
``normcore.variables``. Commands that run a server import ``service`` when they are called.
"""

from normbench.answers import Artifact, ExperimentSummary, Recipe, ReplayComparison, Run, Series
from normbench.client import Client
from normbench.errors import (
    Conflict,
    FieldError,
    Invalid,
    Missing,
    NormbenchError,
    NotFound,
    Refused,
    StillRunning,
    Unauthorized,
    Unavailable,
    Unreachable,
)
from normbench.events import Event, Measured, StateChanged
from normbench.shown_answers import Experiment, Leaderboard, Plan, ReportCard

__all__ = [
    "Artifact",
    "Client",
    "Conflict",
    "Event",
    "Experiment",
    "ExperimentSummary",
    "FieldError",
    "Invalid",
    "Leaderboard",
    "Measured",
    "Missing",
    "NormbenchError",
    "NotFound",
    "Plan",
    "Recipe",
    "Refused",
    "ReplayComparison",
    "ReportCard",
    "Run",
    "Series",
    "StateChanged",
    "StillRunning",
    "Unauthorized",
    "Unavailable",
    "Unreachable",
]
