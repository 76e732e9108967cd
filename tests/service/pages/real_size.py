"""A database at real size: what a group of five has measured after a month.

It has 2,180 runs: a board of 63 entries, sweeps of 100 and 24 cells, an experiment of 100 seeds, boards of five more
tasks, and experiments in all states. Rows are inserted into the tables; the service pools the entries.

``python -P -m tests.service.pages.real_size --data-dir DIR`` fills an empty data directory in seconds. To look at the
pages, start ``NORMBENCH_DATA_DIR=DIR normbench api`` then. Every call stores the same values; ids and times follow
``end``.
"""

import argparse
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import islice, product
from pathlib import Path
from random import Random
from typing import Any

from sqlalchemy import insert
from sqlalchemy.orm import Session
from ulid import ULID

from benchmarks.leaderboard import ALONE, SPENT
from normcore.events import Result
from normcore.spec import TrainingSpec, digest, resolve
from normcore.spec.metric import Metric
from normcore.spec.tasks import BENCHMARKS
from normcore.target import Aim, Point
from service.db import Database, rows_of
from service.experiments import certificates, machines
from service.experiments.submission import NEW_EXPERIMENT, NEW_LABEL, columns_of
from service.experiments.tables import Measurement, Run
from service.fleet.tables import Worker
from service.leaderboards import entries
from service.sweeps import expansion
from service.sweeps.spec import read
from service.sweeps.submission import NEW_CELL, NEW_SWEEP
from tests.service.pages.sample_pages import card

RUNS, ENTRIES, CELLS, SEEDS = 2_180, 63, 100, 100
BOARD = "permuted_digits"  # the task of the board with 63 entries
END = datetime(2026, 11, 29, 18, tzinfo=UTC)
DAYS = 30
LONG_AFTER = 4e9  # seconds since 1970: a lease or a heartbeat that stays valid
LR, HIDDEN, GAIN = "training.optimizer.lr", "model.hidden_size", "norm.gain_init"
PEOPLE = ("mira", "jonas", "wei", "amara", "tomás")
TOPICS = ("icml", "ablation", "thesis", "<b>quick</b> check")
FIVE, THREE = (0, 1, 2, 3, 4), (0, 1, 2)
MEASUREMENTS = 20_000  # rows that one statement stores
OUT_OF_MEMORY = "out of memory: the training needed 5.8 GiB, and the worker gives 4.0 GiB; halve training.batch_size"
NO_KERNEL = "RuntimeError: no fused kernel for rms_norm with training.precision: bfloat16; set training.kernel: auto"
GONE = "its worker was lost five times without a new checkpoint"


@dataclass(frozen=True)
class Scale:
    """Values of a task: without any skill, and at the best that a model can reach; other metrics go from 0 to 1."""

    worst: float
    best: float
    seconds_per_step: float

    def value(self, skill: float) -> float:
        """Value of a model whose skill is between 0 and 1."""
        return self.worst + (self.best - self.worst) * skill


SCALES: Mapping[str, Scale] = {
    "permuted_digits": Scale(0.1, 1.0, 0.021),
    "sequential_digits": Scale(0.1, 1.0, 0.020),
    "permuted_mnist": Scale(0.1, 1.0, 0.120),
    "sequential_mnist": Scale(0.1, 1.0, 0.118),
    "char_lm": Scale(6.6, 1.7, 0.090),
    "attentive_reader": Scale(0.95, 0.25, 0.240),
}


@dataclass(frozen=True)
class Habit:
    """Habit of a method: its best skill, the share of the budget until two thirds of it, and the cost of a step."""

    skill: float
    pace: float
    cost: float


METHODS: Mapping[str, Habit] = {
    "recurrent_batch_norm": Habit(0.932, 0.08, 1.62),
    "rms_norm": Habit(0.930, 0.10, 1.10),
    "layer_norm": Habit(0.929, 0.09, 1.14),
    "sequence_batch_norm": Habit(0.922, 0.14, 1.35),
    "weight_norm": Habit(0.914, 0.18, 1.04),
    "dynamic_tanh": Habit(0.905, 0.20, 1.03),
    "none": Habit(0.890, 0.25, 1.00),
}
"""Methods by name. ``char_lm`` prefers other methods than images do, see ``_skill``."""

VARIANTS: Sequence[Mapping[str, Any]] = (
    {},
    {LR: 5e-4},
    {LR: 1e-3},
    {LR: 4e-3},
    {LR: 8e-3},
    {LR: 2.9e-2},
    {HIDDEN: 200},
    {"model.cell": "gru"},
    {"training.batch_size": 32, LR: 1e-3},
)
"""Changes of the profile on the large board: nine for each of the seven methods."""


@dataclass(frozen=True)
class Plan:
    """An experiment to store.

    Attributes:
        changes: values that differ from the profile, by dotted path.
        seeds: seeds that have succeeded, or diverged if they are in ``diverged``.
        states: states of the other seeds.
        contended: whether other work kept the machine busy.
    """

    task: str
    method: str
    changes: Mapping[str, Any]
    seeds: Sequence[int] = FIVE
    profile: str = "small"
    diverged: Sequence[int] = ()
    states: Mapping[int, str] | None = None
    error: str | None = None
    contended: bool = False
    sweep: str | None = None

    @property
    def written(self) -> dict[str, Any]:
        """The spec as a user writes it, without labels."""
        spec: dict[str, Any] = {"task": {"name": self.task, "profile": self.profile}, "norm": {"method": self.method}}
        for path, value in self.changes.items():
            part = spec
            *parents, name = path.split(".")
            for parent in parents:
                part = part.setdefault(parent, {"name": "rmsprop"} if parent == "optimizer" else {})
            part[name] = value
        if self.task in ("char_lm", "attentive_reader") and LR in self.changes:
            spec["training"]["optimizer"]["name"] = "adam"
        return {**spec, "seeds": [*self.seeds, *(self.states or {})]}


def plans() -> Iterator[Plan]:
    """Yield all experiments without sweeps, in the order in which they were submitted."""
    dice = Random("a month")
    for task in islice(SCALES, 1, None):
        yield from (Plan(task, method, {}) for method in METHODS)
    for task in ("permuted_mnist", "sequential_mnist"):
        yield from (Plan(task, method, {}, profile="paper") for method in METHODS)
    yield from _large_board()
    yield from _tries(dice)
    yield Plan("sequential_digits", "layer_norm", {}, seeds=range(SEEDS), diverged=(17, 58, 91))
    yield from _unfinished()


def _large_board() -> Iterator[Plan]:
    for changes, method in product(VARIANTS, METHODS):
        rate = changes.get(LR, 0)
        diverged: Sequence[int] = (1, 2, 4) if rate == 2.9e-2 and method == "none" else ()
        if rate == 2.9e-2 and method == "dynamic_tanh":
            diverged = FIVE
        yield Plan(BOARD, method, changes, diverged=diverged, contended=changes == {HIDDEN: 200})


def _tries(dice: Random) -> Iterator[Plan]:
    """300 experiments of three seeds, in which five people try settings; some repeat another's setting."""
    tasks, rates = [*islice(SCALES, 1, None)], (3e-4, 5e-4, 1e-3, 3e-3, 1e-2, 3e-2)
    for k in range(300):
        method = dice.choice([*METHODS])
        changes: dict[str, Any] = {LR: dice.choice(rates)}
        if dice.random() < 0.4:
            changes[HIDDEN] = dice.choice((64, 128, 256))
        if dice.random() < 0.2:
            changes["training.batch_size"] = dice.choice((16, 128))
        diverged = THREE if changes[LR] == 3e-2 and method == "none" else (1,) if changes[LR] == 3e-2 and k % 2 else ()
        yield Plan(tasks[k % len(tasks)], method, changes, THREE if k % 3 else (3, 4, 5), diverged=diverged)


def _unfinished() -> Iterator[Plan]:
    """16 experiments that failed, were cancelled, are running or wait."""
    methods = [*METHODS]
    for k in range(6):
        error = (OUT_OF_MEMORY, NO_KERNEL, GONE)[k % 3]
        yield Plan(BOARD, methods[k], {HIDDEN: 400}, (), states=dict.fromkeys(THREE, "failed"), error=error)
    for k in range(2):
        states = {1: "failed", 2: "cancelled"}
        yield Plan("char_lm", methods[k], {HIDDEN: 512}, (0,), states=states, error=OUT_OF_MEMORY)
    for k in range(4):
        states = {1: "cancelled", 2: "cancelled"} if k else dict.fromkeys(THREE, "cancelled")
        yield Plan("permuted_mnist", methods[k], {"training.max_steps": 600}, (0,) if k else (), states=states)
    other, changes = "sequential_digits", {LR: 1.5e-3}
    yield Plan(other, "rms_norm", changes, (0,), states={1: "running", 2: "queued"})
    yield Plan(BOARD, "layer_norm", changes, (), states={0: "running", 1: "running", 2: "queued"})
    yield Plan(other, "dynamic_tanh", changes, (0,), diverged=(0,), states={1: "running", 2: "queued"})
    yield Plan(BOARD, "weight_norm", changes, (), states=dict.fromkeys(THREE, "queued"))


SWEEP: Mapping[str, Any] = {
    "spec": {
        "task": {"name": "permuted_mnist", "profile": "small"},
        "norm": {"method": "recurrent_batch_norm"},
        "seeds": [*FIVE],
        "labels": {"who": "wei", "topic": "icml"},
    },
    "grid": {
        LR: [1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 1e-1],
        GAIN: [0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 0.85, 1.0],
    },
}
UNDER_WAY: Mapping[str, Any] = {
    "spec": {
        "task": {"name": "sequential_mnist", "profile": "small"},
        "seeds": [*THREE],
        "labels": {"who": "amara", "topic": "thesis"},
    },
    "grid": {
        "norm.method": ["layer_norm", "rms_norm"],
        LR: [2e-4, 4e-4, 6e-4, 8e-4, 1.5e-3, 2e-3, 4e-3, 6e-3, 8e-3, 1.5e-2, 2e-2, 4e-2],
    },
}


class Month:
    """Rows of the month, collected until ``store`` inserts them."""

    def __init__(self, end: datetime) -> None:
        self.end = end
        self._count = 0
        self.rows: dict[str, list[dict[str, Any]]] = {
            name: [] for name in ("experiments", "runs", "labels", "measurements", "sweeps", "cells")
        }
        self.fingerprints: dict[str, None] = {}
        self.found: dict[str, str] = {}

    def new_id(self, kind: str, at: datetime) -> str:
        """Make an id that sorts by ``at``."""
        self._count += 1
        return f"{kind}_{ULID.from_int((int(at.timestamp() * 1000) << 80) + self._count)}"

    def add(self, plan: Plan, at: datetime, labels: Mapping[str, str], spec: TrainingSpec | None = None) -> str:
        """Add an experiment with its runs; return its id."""
        written = {**plan.written, "labels": dict(labels)}
        spec = spec or _resolved(written)
        experiment_id = self.new_id("exp", at)
        self.rows["experiments"].append(
            {
                "id": experiment_id,
                **columns_of(spec),
                "idempotency_key": None,
                "request_digest": digest(written),
                "sweep_id": plan.sweep,
                "created_at": at,
            }
        )
        self.rows["labels"] += [
            {"key": key, "value": value, "experiment_id": experiment_id} for key, value in labels.items()
        ]
        if plan.seeds:
            self.fingerprints[spec.fingerprint()] = None
        for k, seed in enumerate(plan.seeds):
            self._ended(plan, spec, experiment_id, at, seed, at + timedelta(seconds=90 * k))
        for seed, state in (plan.states or {}).items():
            self._unfinished(plan, spec, experiment_id, at, seed, state)
        return experiment_id

    def _run(self, spec: TrainingSpec, experiment_id: str, at: datetime, seed: int, **more: Any) -> dict[str, Any]:
        run = {
            **dict.fromkeys(column.name for column in rows_of(Run).columns),
            **{"experiment_id": experiment_id, "seed": seed, "queue": spec.device, "needs_fused": False},
            **{"priority": spec.priority, "max_steps": spec.max_steps, "turn": len(self.rows["runs"]), "attempt": 1},
            **{"times_lost": 0, "times_deferred": 0, "history": [], "cancel_requested": False, "step": 0},
            **{"id": self.new_id("run", at), "seconds": 0.0, "created_at": at, **more},
        }
        self.rows["runs"].append(run)
        return run

    def _ended(
        self, plan: Plan, spec: TrainingSpec, experiment_id: str, at: datetime, seed: int, began: datetime
    ) -> None:
        curve, value = _curve(plan, spec, seed)
        is_diverged = seed in plan.diverged
        certificate = ALONE
        if plan.contended:
            certificate = replace(ALONE, contended=True, reason="8 of 14 windows took far longer than the others")
        result = _result(plan, spec, curve, None if is_diverged else value)
        outcome = "diverged" if is_diverged else "completed"
        environment = _environment(seed)
        run = self._run(spec, experiment_id, at, seed, state="succeeded", outcome=outcome, value=result.value)
        run |= {"started_attempt": 1, "step": curve[-1].step, "seconds": curve[-1].seconds, "device": "cpu"}
        run |= {"kernel": "reference", "environment": environment, "machine": machines.machine(environment)}
        run |= {"timing": certificates.convert_timing(replace(SPENT, training=curve[-1].seconds), certificate)}
        run |= {"result": asdict(result), "started_at": began, "steps_per_second": 1 / _seconds_per_step(plan, seed)}
        run |= {"finished_at": began + timedelta(seconds=min(80, curve[-1].seconds))}
        self._measure(run["id"], plan, curve)

    def _unfinished(
        self, plan: Plan, spec: TrainingSpec, experiment_id: str, at: datetime, seed: int, state: str
    ) -> None:
        run = self._run(spec, experiment_id, at, seed, state=state)
        if state == "queued":
            return
        run |= {"started_at": at + timedelta(seconds=2), "started_attempt": 1, "environment": _environment(seed)}
        run |= {"device": "cpu", "kernel": "reference"}
        if state != "running":
            run["finished_at"] = at + timedelta(seconds=20)
        if state == "failed":
            run |= {"error": plan.error, "attempt": 5 if plan.error == GONE else 1}
        else:
            curve = _curve(plan, spec, seed)[0]
            curve = curve[: 1 + len(curve) // 2]
            run |= {"step": curve[-1].step, "seconds": curve[-1].seconds}
            run |= {"steps_per_second": 1 / _seconds_per_step(plan, seed)}
            self._measure(run["id"], plan, curve)
        if state == "running":
            worker = self.found.setdefault(f"worker {self._count}", f"wrk_{self._count:026}")
            run |= {"worker_id": worker, "lease_expires_at": LONG_AFTER}

    def _measure(self, run_id: str, plan: Plan, curve: Sequence[Point]) -> None:
        name, scale = BENCHMARKS[plan.task].metric().name, SCALES[plan.task]
        for point in curve:
            skill = (point.value - scale.worst) / (scale.best - scale.worst)
            values = {f"valid.{name}": point.value, "train.loss": -math.log(max(skill, 0.01))}
            self.rows["measurements"] += [
                {
                    "run_id": run_id,
                    "step": point.step,
                    "series": series,
                    "value": value,
                    "seconds": point.seconds,
                    "attempt": 1,
                }
                for series, value in values.items()
            ]

    def add_sweep(self, body: Mapping[str, Any], at: datetime, n_done: int) -> str:
        """Add a sweep of which the first cells are done, two runs are in progress, and the others wait."""
        written = read(body)
        cells = expansion.assignments(written)
        sweep_id, seeds = self.new_id("swp", at), body["spec"]["seeds"]
        for number, values in enumerate(cells):
            spec = _resolved(expansion.spec_of(written, values))
            assert spec.norm is not None
            plan = Plan(spec.task.name, spec.norm.method, values, seeds, sweep=sweep_id)
            if spec.training.optimizer.lr >= 0.05:
                plan = replace(plan, diverged=seeds if values.get(GAIN, 0) > 0.4 else seeds[1::2])
            if number >= n_done:
                states = {seed: "running" if number == n_done and seed < 2 else "queued" for seed in seeds}
                plan = replace(plan, seeds=(), states=states, diverged=())
            experiment_id = self.add(plan, at + timedelta(seconds=number), spec.labels, spec)
            self.rows["cells"].append(
                {
                    "sweep_id": sweep_id,
                    "number": number,
                    "values": dict(values),
                    "fingerprint": spec.fingerprint(),
                    "experiment_id": experiment_id,
                    "seeds": seeds,
                    "reused": [],
                }
            )
        self.rows["sweeps"].append(
            {
                "id": sweep_id,
                "posted": written.complete,
                "n_cells": len(cells),
                "n_runs": len(cells) * len(seeds),
                "reused_runs": 0,
                "is_settled": True,
                "idempotency_key": None,
                "request_digest": digest(body),
                "created_at": at,
            }
        )
        return sweep_id

    def store(self, session: Session) -> None:
        """Insert all rows, and pool the entries."""
        connection = session.connection()
        connection.execute(NEW_SWEEP, self.rows["sweeps"])
        connection.execute(NEW_EXPERIMENT, self.rows["experiments"])
        connection.execute(NEW_LABEL, self.rows["labels"])
        connection.execute(insert(rows_of(Run)), self.rows["runs"])
        connection.execute(NEW_CELL, self.rows["cells"])
        for k in range(0, len(self.rows["measurements"]), MEASUREMENTS):
            connection.execute(insert(rows_of(Measurement)), self.rows["measurements"][k : k + MEASUREMENTS])
        working = sorted({run["worker_id"] for run in self.rows["runs"]} - {None})
        connection.execute(insert(rows_of(Worker)), [_worker(k, id, self.end) for k, id in enumerate(working)])
        for fingerprint in self.fingerprints:
            entries.refresh(session, fingerprint)


def fill(db: Database, end: datetime = END) -> dict[str, str]:
    """Store a month that ends at ``end``; return ids by the names that tests look for."""
    month, all_plans = Month(end), [*plans()]
    for method in ("layer_norm", "recurrent_batch_norm"):
        card(db, method)
    for k, plan in enumerate(all_plans):
        left = len(all_plans) - k
        at = end - timedelta(minutes=4 * left) if left <= 16 else end - timedelta(days=DAYS * left / len(all_plans))
        experiment_id = month.add(plan, at, _labels(k))
        states = {*(plan.states or {}).values()}
        name = "diverged" if plan.diverged else "many seeds" if len(plan.seeds) == SEEDS else "succeeded"
        name = next((state for state in ("running", "failed", "cancelled", "queued") if state in states), name)
        month.found["many seeds" if len(plan.seeds) == SEEDS else name] = experiment_id
    month.found["sweep"] = month.add_sweep(SWEEP, end - timedelta(days=6), n_done=CELLS)
    month.found["sweep under way"] = month.add_sweep(UNDER_WAY, end - timedelta(hours=2), n_done=14)
    counted = Counter(run["experiment_id"] for run in month.rows["runs"])
    assert sum(counted.values()) == RUNS, sum(counted.values())
    with db.transaction() as session:
        month.store(session)
    return {name: id for name, id in month.found.items() if not name.startswith("worker")}


def _resolved(written: Mapping[str, Any]) -> TrainingSpec:
    spec = resolve(written)
    assert isinstance(spec, TrainingSpec)
    return spec


def _labels(number: int) -> dict[str, str]:
    """Labels of an experiment: most have a person, and some a topic."""
    dice = Random(f"labels {number}")
    labels = {"who": dice.choice(PEOPLE)} if dice.random() < 0.9 else {}
    return {**labels, "topic": dice.choice(TOPICS)} if dice.random() < 0.4 else labels


def _environment(seed: int) -> dict[str, Any]:
    node = {"host": f"node-{1 + seed % 3}", "cpu": "AMD EPYC 7763", "threads": 1}
    return {**node, "torch": "2.9.0", "git": "d9e1ab4", "data": {}}


def _worker(number: int, worker_id: str, end: datetime) -> dict[str, Any]:
    began = end - timedelta(days=2)
    row = {"id": worker_id, "host": f"node-{1 + number}", "pid": 4100 + number, "device": "cpu", "queues": "auto,cpu"}
    row |= {"fused": True, "code": None, "code_at": None, "memory_bytes": 4 * 2**30}
    return {**row, "started_at": began, "heartbeat_at": LONG_AFTER}


def _skill(plan: Plan, spec: TrainingSpec) -> float:
    """Skill after the whole budget. Rates that are too far from 0.002 cost skill, as a small model does."""
    skill = METHODS[plan.method].skill
    if plan.task == "char_lm":
        skill = {"layer_norm": 0.935, "recurrent_batch_norm": 0.918}.get(plan.method, skill)
    if plan.task in ("permuted_mnist", "sequential_mnist") and plan.profile == "paper":
        skill += 0.02
    rate = math.log10(float(spec.training.optimizer.lr) / 0.002)
    skill -= (0.05 if plan.method == "none" else 0.02) * rate**2
    skill -= 0.03 * (float(plan.changes.get(GAIN, 0.1)) - 0.1)
    hidden: int = getattr(spec.model, "hidden_size", 100)
    return skill + 0.012 * math.log2(hidden / 100) if hidden < 256 else skill


def _seconds_per_step(plan: Plan, seed: int) -> float:
    return SCALES[plan.task].seconds_per_step * METHODS[plan.method].cost * (1 + 0.01 * (seed % 3))


def _curve(plan: Plan, spec: TrainingSpec, seed: int) -> tuple[list[Point], float]:
    """Validation values of a run, of a run that diverges the first tenth; and its test value."""
    dice = Random(f"{plan.task} {plan.method} {sorted(plan.changes.items())} {seed}")
    scale, pace = SCALES[plan.task], METHODS[plan.method].pace
    luck = Random(f"{plan.task} {seed}").gauss(0, 0.006)  # of the seed, which all settings share
    last = min(0.995, _skill(plan, spec) + luck + dice.gauss(0, 0.0018))
    n_evaluations = min(30, max(8, spec.training.max_steps // spec.training.eval_every))
    skills = [last * (1 - math.exp(-k / n_evaluations / pace)) + dice.gauss(0, 0.005) for k in range(1, n_evaluations)]
    skills.append(last)
    seconds = _seconds_per_step(plan, seed)
    steps = [spec.training.max_steps * k // n_evaluations for k in range(1, n_evaluations + 1)]
    curve = [
        Point(step, scale.value(min(1.0, max(0.0, skill))), step * seconds)
        for step, skill in zip(steps, skills, strict=True)
    ]
    test = scale.value(last - 0.004 + dice.gauss(0, 0.001))
    return (curve[: max(2, n_evaluations // 10)] if seed in plan.diverged else curve), test


def _result(plan: Plan, spec: TrainingSpec, curve: Sequence[Point], value: float | None) -> Result:
    task, scale = BENCHMARKS[plan.task], SCALES[plan.task]
    metric = task.metric()
    chosen = (max if metric.direction == "maximize" else min)(curve, key=lambda point: point.value)
    target = spec.training.target
    assert target is not None
    aim = Aim(target, metric.direction)
    for point in curve:
        aim.note(point)
    reached = aim.time
    return Result(
        metric=metric.name,
        values={} if value is None else dict(_values(task.metrics, scale, value)),
        value=value,
        valid_value=None if value is None else chosen.value,
        no_skill=scale.worst,
        step=None if value is None else chosen.step,
        steps_to_target=reached.steps if reached.reached else None,
        seconds_to_target=reached.seconds if reached.reached else None,
        steps_below_target=None if reached.reached else reached.steps,
        seconds_below_target=None if reached.reached else reached.seconds,
        train_seconds=curve[-1].seconds,
    )


def _values(metrics: Sequence[Metric], scale: Scale, value: float) -> Iterator[tuple[str, float]]:
    skill = (value - scale.worst) / (scale.best - scale.worst)
    for k, metric in enumerate(metrics):
        yield metric.name, value if k == 0 else 0.6 * skill


def main(arguments: Sequence[str] | None = None) -> None:
    """Fill the database of a data directory."""
    from service.processes.startup import prepare
    from service.settings import Settings

    parser = argparse.ArgumentParser(description="Fill an empty data directory with a month of a group.")
    parser.add_argument("--data-dir", type=Path, required=True, help="an empty folder, or the name of a new one")
    folder: Path = parser.parse_args(arguments).data_dir
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "normbench.db"
    if file.exists():
        parser.error(f"--data-dir: {file} is there already; name an empty folder")
    settings = Settings(data_dir=folder, artifacts_url=str(folder / "artifacts"), database_url=f"sqlite:///{file}")
    db = prepare(settings)
    for name, id in fill(db, datetime.now(UTC)).items():
        print(f"{name}: {id}")
    db.close()


if __name__ == "__main__":
    main()
