"""Cost of an experiment, in words."""

from dataclasses import dataclass

from service import wording
from service.experiments.schemas import PlanOut
from service.sweeps.schemas import SweepPlan
from service.workload.backlog import Backlog


@dataclass(frozen=True)
class CostText:
    """Text above the button that submits.

    Attributes:
        claim: how many runs, and how long they take.
        basis: measurements that the time is based on.
        wait: when the first run would begin.
        measured: seeds that are measured already; empty if there are none.
        code: workers that have other code than the API; empty if there are none.
        memory: memory that a run needs; empty if it is not known.
    """

    claim: str
    basis: str
    wait: str
    measured: str
    code: str
    memory: str


def estimate(plan: PlanOut, backlog: Backlog) -> CostText:
    return CostText(
        _claim(plan),
        _basis(plan),
        _wait(plan.queue_position, plan.spec["device"], backlog),
        _name_measured_seeds(plan),
        _code(plan),
        _memory(plan),
    )


def estimate_sweep(plan: SweepPlan, device: str, backlog: Backlog) -> CostText:
    """Cost of a sweep. ``device`` is the device that its runs ask for."""
    left = plan.n_runs - plan.reused_runs
    runs = f"{wording.count(plan.n_experiments, 'cell')}, {wording.count(left, 'run')}"
    more = f", up to {wording.steps(plan.most_runs)}" if plan.most_runs > plan.n_runs else ""
    known = None if plan.total_seconds is None else f"about {wording.seconds(plan.total_seconds)}"
    basis = f"{(plan.basis or '')[:1].upper()}{(plan.basis or '')[1:]}; one run after the other."
    reused = wording.count(plan.reused_runs, "run")
    return CostText(
        claim=f"{runs}{more}{f', {known}' if known and left else '' if not left else '; how long is not known yet'}",
        basis=basis if plan.basis else "No similar run was measured on this service." if left else "",
        wait=_wait(plan.queue_position, device, backlog) if left else "",
        measured=f"{reused} of these are measured here already, and count." if plan.reused_runs else "",
        code="",
        memory=_memory(plan),
    )


def _code(plan: PlanOut) -> str:
    told = [
        f"{worker.host} (process {worker.pid}) has other code for {wording.listed(worker.parts)} than the API."
        for worker in plan.code.workers
    ]
    return " ".join([*told, "Runs on these workers would use that other code."]) if told else ""


def _claim(plan: PlanOut) -> str:
    runs = wording.count(plan.runs, "run")
    if plan.total_seconds_range is None:
        return f"{runs}; how long is not known yet"
    low, high = map(wording.seconds, plan.total_seconds_range)
    return f"{runs}, about {low}" if low == high else f"{runs}, {low} to {high}"


def _basis(plan: PlanOut) -> str:
    if plan.basis is None:
        return "No similar run was measured on this service."
    low, high = map(wording.seconds, plan.total_seconds_range or (0.0, 0.0))
    more = [*(["fastest to slowest"] if low != high else []), *(["one run after the other"] if plan.runs > 1 else [])]
    return "; ".join([f"{plan.basis[:1].upper()}{plan.basis[1:]}", *more]) + "."


def _wait(position: int, device: str, backlog: Backlog) -> str:
    place = "next in the queue" if position == 1 else f"place {position} in the queue"
    if not backlog.workers:
        return f"{place[:1].upper()}{place[1:]}; no worker takes runs of the device {device} now."
    if backlog.expected_wait_seconds is None:
        return f"{place[:1].upper()}{place[1:]}; the wait is not known yet."
    if backlog.expected_wait_seconds < 1:
        return "A worker is free: it begins at once."
    return f"{place[:1].upper()}{place[1:]}: begins in about {wording.seconds(backlog.expected_wait_seconds)}."


def _memory(plan: PlanOut | SweepPlan) -> str:
    if plan.memory_bytes is None:
        return ""
    needed = f"Memory: a run needs at least {wording.size(plan.memory_bytes)}"
    if not plan.live_workers:
        return f"{needed}; there is no live worker to compare with."
    fits = f"{needed}; it fits on {plan.fitting_workers} of {wording.count(plan.live_workers, 'worker')}"
    if plan.worker_memory_bytes is None:
        return f"{fits} (not every worker says what it has)."
    return f"{fits}, of which the largest gives it {wording.size(plan.worker_memory_bytes)}."


def _name_measured_seeds(plan: PlanOut) -> str:
    if not plan.measured_seeds:
        return ""
    if len(plan.measured_seeds) == plan.runs:
        return "All these seeds are measured here already; other seeds would tell more."
    seeds = wording.listed([str(seed) for seed in plan.measured_seeds])
    one = len(plan.measured_seeds) == 1
    return f"Seed {seeds} is measured here already." if one else f"Seeds {seeds} are measured here already."
