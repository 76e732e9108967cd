"""Plan of the faults: their kinds, their order and the trainings. One seed decides the order and all details."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Kind(StrEnum):
    """Kind of fault, with its name in the report. Processes are killed by SIGKILL."""

    WORKER = "worker killed"
    CHILD = "training process killed"
    QUIET = "worker or training process killed after 15 quiet seconds"
    FORK_SERVER = "fork server killed"
    SERVICE = "`normbench up` killed"  # kills API and scheduler; the workers go on alone
    API = "API killed"
    SCHEDULER = "scheduler killed"
    TREE = "everything killed"
    SESSIONS = "database sessions terminated"
    FLUSH = "FLUSHDB"
    BLACK_HOLE = "database black-holed"
    TORN = "newest checkpoint torn, then a kill"
    DISK = "artifact disk full"
    BURST = "three kills, each at a new checkpoint"
    CANCEL = "cancel meets a kill"
    FROZEN = "worker frozen beyond its lease"


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of a plan.

    Attributes:
        pause: seconds to wait before the fault.
        seconds: duration of an outage.
        luck: random number in [0, 1) for the choices that the kind leaves open.
    """

    kind: Kind
    pause: float
    seconds: float
    luck: float


@dataclass(frozen=True, slots=True)
class Load:
    """Training that is submitted: a spec without seeds, and one seed."""

    spec: Mapping[str, Any]
    seed: int

    def body(self) -> dict[str, Any]:
        return {**self.spec, "seeds": [self.seed]}


@dataclass(frozen=True, slots=True)
class Size:
    """Size of the benchmark.

    Attributes:
        faults: number of faults of each kind, by backend.
        seconds: time after which no further fault is caused on a backend.
        settings: settings of the service, which take precedence over ``backends.SETTINGS``.
        least: number of faults that must have been caused on a backend.
    """

    faults: Mapping[str, Mapping[Kind, int]]
    loads: Sequence[Load]
    seconds: float
    settings: Mapping[str, str]
    least: int = 1


PAUSE_SECONDS = (0.1, 1.5)
OUTAGE_SECONDS = (3.0, 9.0)


def plan(faults: Mapping[Kind, int], seed: int) -> list[Fault]:
    """Draw the plan: the faults in random order, each with a random pause, duration and luck."""
    draw = random.Random(seed)
    kinds = [kind for kind, times in faults.items() for _ in range(times)]
    draw.shuffle(kinds)
    return [Fault(kind, draw.uniform(*PAUSE_SECONDS), draw.uniform(*OUTAGE_SECONDS), draw.random()) for kind in kinds]


def _training(task: str, method: str, max_steps: int, kernel: str = "auto") -> dict[str, Any]:
    return {
        "task": {"name": task, "profile": "smoke"},
        "norm": {"method": method},
        "training": {"max_steps": max_steps, "eval_every": 10, "kernel": kernel},
        "device": "cpu",
    }


SHORT = (_training("permuted_digits", "layer_norm", 250), _training("char_lm", "recurrent_batch_norm", 500))
LONG = (
    _training("permuted_digits", "layer_norm", 300),
    _training("permuted_digits", "recurrent_batch_norm", 200),
    _training("sequential_digits", "none", 400),
    _training("char_lm", "recurrent_batch_norm", 700),
    _training("char_lm", "layer_norm", 2500, "reference"),  # so long that it is hit more often than a run may be lost
)

FULL = Size(
    faults={
        "up": {
            Kind.WORKER: 16,
            Kind.CHILD: 16,
            Kind.QUIET: 12,
            Kind.FORK_SERVER: 8,
            Kind.SERVICE: 8,
            Kind.TREE: 8,
            Kind.TORN: 10,
            Kind.BURST: 8,
            Kind.CANCEL: 6,
            Kind.DISK: 4,
            Kind.FROZEN: 4,
        },
        "cluster": {
            Kind.WORKER: 16,
            Kind.CHILD: 16,
            Kind.FORK_SERVER: 6,
            Kind.API: 6,
            Kind.SCHEDULER: 6,
            Kind.TREE: 6,
            Kind.SESSIONS: 8,
            Kind.FLUSH: 6,
            Kind.BLACK_HOLE: 4,
            Kind.TORN: 8,
            Kind.BURST: 6,
            Kind.CANCEL: 6,
            Kind.DISK: 3,
            Kind.FROZEN: 3,
        },
    },
    loads=[Load(spec, seed) for seed in (0, 1) for spec in LONG],
    seconds=3000.0,
    settings={},
    least=100,
)
BRIEF = Size(
    faults={
        "up": {
            Kind.WORKER: 1,
            Kind.CHILD: 1,
            Kind.QUIET: 1,
            Kind.SERVICE: 1,
            Kind.TORN: 1,
            Kind.BURST: 1,
            Kind.DISK: 1,
            Kind.FROZEN: 1,
        },
        "cluster": {
            Kind.WORKER: 1,
            Kind.CHILD: 1,
            Kind.TREE: 1,
            Kind.SESSIONS: 1,
            Kind.FLUSH: 1,
            Kind.BLACK_HOLE: 1,
            Kind.CANCEL: 1,
            Kind.FROZEN: 1,
        },
    },
    loads=[Load(spec, 0) for spec in SHORT],
    seconds=60.0,
    settings={"lease_seconds": "3", "heartbeat_seconds": "1"},
)
