"""Reason why an experiment waits, read from the service's workers and queue."""

import time
from collections.abc import Container
from itertools import islice
from typing import Any

from normbench.client import Client
from normbench.display.numbers import format_count
from normbench.errors import NormbenchError
from normbench.shown_answers import Experiment

LOOK_SECONDS = 3.0  # between two looks at the queue
MOST = 200  # experiments that are counted
STARTING = "the worker is starting: it compiles kernels, once on a machine, some 20 s"
NOBODY = "no worker is alive; `normbench up` starts its own, else run `normbench worker`"


class Queue:
    """Queue that experiments wait in. The service is asked again after LOOK_SECONDS."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._known: dict[str, tuple[float, str]] = {}

    def why(self, experiment: Experiment) -> str:
        """Reason why no run of the experiment is being trained; an empty text if the service never answered."""
        asked, reason = self._known.get(experiment["id"], (0.0, ""))
        if not reason or time.monotonic() > asked + LOOK_SECONDS:
            try:
                reason = self._reason(experiment)
            except NormbenchError:
                return reason
            self._known[experiment["id"]] = time.monotonic(), reason
        return reason

    def no_worker(self, device: str) -> str | None:
        """Message that no live worker trains on the device, and what to do.

        None if there is such a worker, or if the service does not answer.
        """
        try:
            workers = self._client.catalogue("workers")
        except NormbenchError:
            return None
        return None if _select_workers(device, workers) else _no_worker(device, workers)

    def _reason(self, experiment: Experiment) -> str:
        device: str = experiment["spec"]["device"]
        workers = self._client.catalogue("workers")
        listening = _select_workers(device, workers)
        if not listening:
            return _no_worker(device, workers)
        if all(map(_is_starting, listening)):
            return STARTING
        if _needs_fused(experiment) and all(worker.get("fused") is False for worker in listening):
            return "no live worker for it has fused kernels; a worker's log says what is missing"
        waiting = (run for run in experiment["runs"] if run["state"] == "queued")
        trouble = next((run["history"][-1] for run in waiting if run["history"]), None)
        if trouble is not None:
            return f"to be tried again; attempt {trouble['attempt']} ended: {trouble['reason']}"
        idle = sum(worker["run_id"] is None for worker in listening)
        if idle:
            return "about to start"
        queues = {queue for worker in listening for queue in worker["queues"]}
        return f"{_describe_busy_workers(len(listening), device)}, {self._others(experiment, queues)} waiting"

    def _others(self, experiment: Experiment, queues: Container[str]) -> str:
        """Count the runs of other experiments that wait for the same workers, as ``4 other runs``."""
        waiting = [
            summary["runs_by_state"].get("queued", 0)
            for state in ("queued", "running")
            for summary in islice(self._client.experiments(state=state, page_size=MOST), MOST)
            if summary["id"] != experiment["id"] and summary["spec"]["device"] in queues
        ]
        return format_count(sum(waiting), "other run")


def _needs_fused(experiment: Experiment) -> bool:
    training: dict[str, Any] = experiment["spec"].get("training") or {}
    return training.get("kernel") == "fused"


def _select_workers(device: str, workers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [worker for worker in workers if device in worker["queues"]]


def _is_starting(worker: dict[str, Any]) -> bool:
    """Tell if a worker still compiles its kernels; False for workers of older services, which do not say so."""
    return "fused" in worker and worker["fused"] is None


def _describe_busy_workers(workers: int, device: str) -> str:
    whom = "" if device == "auto" else f" for {device}"
    return f"the only worker{whom} is busy" if workers == 1 else f"all {workers} workers{whom} are busy"


def _no_worker(device: str, workers: list[dict[str, Any]]) -> str:
    if not workers:
        return NOBODY
    there = ", ".join(sorted({worker["device"] for worker in workers}))
    wanted = "cuda:0" if device == "cuda" else device
    return f"no worker for {device}, only for {there}; run `normbench worker --device {wanted}`"
