"""The service seen from a user's machine: HTTP, and nothing else."""

import json
import math
import os
import re
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, cast
from urllib.parse import quote

import httpx

from normbench import answers, files, frames, replaying, waiting
from normbench.answers import ENDED
from normbench.connection import Connection, pauses
from normbench.download import save
from normbench.errors import FieldError, Invalid, NormbenchError, Unavailable, Unreachable
from normbench.events import Event, Message, event, messages

if TYPE_CHECKING:
    from pandas import DataFrame

DEFAULT_URL = "http://127.0.0.1:8000"
PATIENCE = 30.0  # seconds
SILENCE_SECONDS = 60.0  # without even a ping, after which a stream of events counts as broken
IDEMPOTENCY_KEY = r"[!-~]([ -~]{0,253}[!-~])?"
FINGERPRINT = r"[0-9a-f]{8,64}"
FIGURES = "figures/"
EXPERIMENTS, RESULTS, COMPARISONS = "/v1/experiments", "/v1/results", "/v1/comparisons"
SWEEPS, OVERALL = "/v1/sweeps", "/v1/leaderboards/overall"
MOST_ON_A_PAGE = 200
NAMES = {
    "experiments": "an experiment's id",
    "sweeps": "a sweep's id",
    "runs": "a run's id",
    "artifacts": "a file's name",
    "figures": "a figure's name",
    "leaderboards": "a task's name",
    "results": "a result's id",
    "methods": "a method's name",
}


class Client:
    """Calls of the HTTP API, answered with plain values.

    Calls that are safe to repeat (all but retries) are tried again while the service is away. Every call raises
    ``Unreachable`` where that does not help, and ``Refused`` or one of its kinds when the service says no.

    Args:
        url: where the service is; NORMBENCH_URL if omitted, or else NORMBENCH_PORT (8000) of this machine.
        key: the API key; NORMBENCH_API_KEY if omitted.
        patience: for how many seconds a call is tried again.
    """

    def __init__(self, url: str | None = None, key: str | None = None, *, patience: float = PATIENCE) -> None:
        url = url or os.environ.get("NORMBENCH_URL") or _own_machine()
        self._service = Connection(url, key or os.environ.get("NORMBENCH_API_KEY"), patience)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; the client is of no use afterwards."""
        self._service.close()

    @property
    def url(self) -> str:
        return self._service.url

    # -- experiments -----------------------------------------------------------------------------

    def submit(self, spec: Mapping[str, Any], *, idempotency_key: str | None = None) -> answers.Experiment:
        """Submit an experiment. However often the request is repeated on the way, it is submitted once.

        Args:
            spec: as in a YAML file; anything omitted comes from the task's profile.
            idempotency_key: submitting again with the same key finds the same experiment; one is made if omitted.
                1 to 255 printable ASCII characters.

        Raises:
            Invalid: the spec is wrong; ``errors`` says where. Or the key is, and nothing was sent.
            Conflict: the key was used with another spec.
        """
        return cast(answers.Experiment, self._post(EXPERIMENTS, spec, headers=_keyed(idempotency_key)))

    def dry_run(self, spec: Mapping[str, Any]) -> answers.Plan:
        """Plan a submission: runs, seconds, seeds that are measured already. Nothing is stored.

        Raises:
            Invalid: the spec is wrong; ``errors`` says where.
        """
        return cast(answers.Plan, self._post(EXPERIMENTS, spec, params={"dry_run": "true"}))

    def _post(self, path: str, content: Mapping[str, Any], **request: Any) -> Any:
        return self._posted(path, content, **request)[1]

    def _posted(
        self, path: str, content: Mapping[str, Any], headers: Mapping[str, str] = {}, what: str = "spec", **request: Any
    ) -> tuple[int, Any]:
        try:
            body = json.dumps(content, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise _unsayable(what, content, error) from None
        headers = {**headers, "Content-Type": "application/json"}
        return self._service.exchange("POST", path, safe=True, content=body, headers=headers, **request)

    def experiment(self, experiment_id: str) -> answers.Experiment:
        """An experiment with its runs."""
        return self._experiment(experiment_id)

    def _experiment(self, experiment_id: str, within: float = math.inf) -> answers.Experiment:
        found = self._service.call("GET", _path("experiments", experiment_id), safe=True, within=within)
        return cast(answers.Experiment, found)

    def experiments(
        self,
        *,
        task: str | None = None,
        profile: str | None = None,
        method: str | None = None,
        state: answers.State | None = None,
        fingerprint: str | None = None,
        sweep: str | None = None,
        labels: Mapping[str, str] | None = None,
        page_size: int = 50,
    ) -> Iterator[answers.ExperimentSummary]:
        """All experiments that fit, newest first; the next page is asked for when the iterator gets there."""
        filters = _given(task=task, profile=profile, method=method, state=state, fingerprint=fingerprint, sweep=sweep)
        return self._pages(EXPERIMENTS, {**filters, "limit": page_size, "label": _labels(labels)})

    def _pages(self, path: str, filters: Mapping[str, Any]) -> Iterator[Any]:
        cursor: str | None = None
        while True:
            page = self._get(path, **filters, **_given(cursor=cursor))
            yield from page["items"]
            cursor = page["next_cursor"]
            if cursor is None:
                return

    def cancel(self, experiment_id: str) -> answers.Experiment:
        """Stop an experiment: queued runs at once, running ones within seconds."""
        path = f"{_path('experiments', experiment_id)}/cancel"
        return cast(answers.Experiment, self._service.call("POST", path, safe=True))

    def retry(self, experiment_id: str) -> answers.Experiment:
        """Open a new attempt of each failed and cancelled run; it goes on from its last checkpoint."""
        path = f"{_path('experiments', experiment_id)}/retry"
        return cast(answers.Experiment, self._service.call("POST", path, safe=False))

    # -- sweeps ----------------------------------------------------------------------------------

    def submit_sweep(self, sweep: Mapping[str, Any], *, idempotency_key: str | None = None) -> answers.Sweep:
        """Submit a sweep: all of its experiments, or none. However often the request is repeated on the way, it is
        submitted once.

        Args:
            sweep: as in a YAML file: a ``spec``, and a ``grid`` of values or ``random`` draws of some of its fields.
            idempotency_key: as of ``submit``.

        Raises:
            Invalid: fields are wrong, or cells do not fit; ``errors`` names each. Or the key is wrong.
            Conflict: the key was used with another sweep.
        """
        return cast(answers.Sweep, self._post(SWEEPS, sweep, headers=_keyed(idempotency_key), what="sweep"))

    def dry_run_sweep(self, sweep: Mapping[str, Any]) -> answers.SweepPlan:
        """Plan a sweep: experiments, runs, seconds, what is measured already. Nothing is stored.

        Raises:
            Invalid: fields are wrong, or cells do not fit; ``errors`` names each.
        """
        return cast(answers.SweepPlan, self._post(SWEEPS, sweep, params={"dry_run": "true"}, what="sweep"))

    def sweep(self, sweep_id: str) -> answers.Sweep:
        """A sweep: its progress, its cells and what they come to."""
        return self._sweep(sweep_id)

    def _sweep(self, sweep_id: str, within: float = math.inf) -> answers.Sweep:
        return cast(answers.Sweep, self._service.call("GET", _path("sweeps", sweep_id), safe=True, within=within))

    def sweeps(self, *, page_size: int = 50) -> Iterator[answers.SweepSummary]:
        """All sweeps, newest first; the next page is asked for when the iterator gets there."""
        return self._pages(SWEEPS, {"limit": page_size})

    def cancel_sweep(self, sweep_id: str) -> answers.Sweep:
        """Stop all of a sweep: queued runs at once, running ones within seconds."""
        return cast(answers.Sweep, self._service.call("POST", f"{_path('sweeps', sweep_id)}/cancel", safe=True))

    def retry_sweep(self, sweep_id: str) -> answers.Sweep:
        """Open a new attempt of each failed and cancelled run of a sweep; it goes on from its last checkpoint."""
        return cast(answers.Sweep, self._service.call("POST", f"{_path('sweeps', sweep_id)}/retry", safe=False))

    # -- waiting ---------------------------------------------------------------------------------

    def wait(self, experiment_id: str, *, timeout: float | None = None) -> answers.Experiment:
        """The experiment once all its runs have ended, however they did; a restart of the service is sat out.

        Args:
            timeout: seconds, and one or two more where the service is silent. For ever if None.

        Raises:
            StillRunning: ``timeout`` seconds were not enough.
            Unreachable, Unavailable: the service never answered in that time, or was away for ten minutes.
        """
        return waiting.ended(experiment_id, self.looks([experiment_id], timeout=timeout), timeout)

    def wait_for_sweep(self, sweep_id: str, *, timeout: float | None = None) -> answers.Sweep:
        """The sweep once all its runs have ended, as ``wait`` has it of an experiment."""
        return waiting.ended(sweep_id, self.looks_at_sweep(sweep_id, timeout=timeout), timeout)

    def looks(
        self, experiment_ids: Sequence[str], *, timeout: float | None = None
    ) -> Iterator[list[answers.Experiment] | Unreachable | Unavailable]:
        """The experiments again and again, or the error where a look failed because the service is away.

        Args:
            timeout: seconds after which it ends, with a last look. For ever if None.

        Raises:
            Unreachable, Unavailable: it was away for ten minutes.
        """
        return waiting.looks([partial(self._experiment, id) for id in experiment_ids], timeout)

    def looks_at_sweep(
        self, sweep_id: str, *, timeout: float | None = None
    ) -> Iterator[list[answers.Sweep] | Unreachable | Unavailable]:
        """Look at one sweep until it has ended."""
        return waiting.looks([partial(self._sweep, sweep_id)], timeout)

    def watch(self, id: str) -> Iterator[Event]:
        """Follow a run, or each run of an experiment: ``StateChanged`` and ``Measured`` as they happen.

        Ends when every run has ended. Where the connection breaks it is opened again, and goes on after the last
        event that was received.

        Raises:
            Unreachable, Unavailable: the service was away for ten minutes.
        """
        path = _path("experiments" if id.startswith("exp_") else "runs", id)
        last_id, pause, outage = None, pauses(), waiting.Outage()
        while True:
            try:
                with self._messages(f"{path}/events", last_id) as told:
                    outage.ends()
                    for message in told:
                        last_id, pause = message.id, pauses()
                        happened = event(message, id)
                        if happened is not None:
                            yield happened
                if self._get(path)["state"] in ENDED:
                    return
            except (Unreachable, Unavailable) as error:
                outage.lasts(error)
            time.sleep(next(pause))

    @contextmanager
    def _messages(self, path: str, last_id: str | None) -> Iterator[Iterator[Message]]:
        headers = {"Last-Event-ID": last_id} if last_id else {}
        timeout = httpx.Timeout(SILENCE_SECONDS)
        with self._service.stream(path, headers=headers, timeout=timeout) as answer:
            yield messages(answer.iter_lines())

    # -- runs ------------------------------------------------------------------------------------

    def run(self, run_id: str) -> answers.Run:
        """A run: its state, progress, history, and in the end its result."""
        return cast(answers.Run, self._get(_path("runs", run_id)))

    def measurements(
        self, run_id: str, *, series: Sequence[str] = (), max_points: int | None = None
    ) -> dict[str, answers.Series]:
        """A run's curves by name.

        Args:
            series: names such as ``valid.accuracy``; all of them if empty.
            max_points: of each curve, extremes kept; all of them if None.
        """
        path = f"{_path('runs', run_id)}/measurements"
        found = self._get(path, series=list(series), **_given(max_points=max_points))
        return cast(dict[str, answers.Series], found["series"])

    def measurements_frame(self, id: str, *, series: Sequence[str] = ()) -> "DataFrame":
        """Curves of a run, or of all runs of an experiment, as a data frame: one row for each measured value.

        Columns: experiment_id, run_id, method, seed, series, step, value, seconds.

        Raises:
            Missing: pandas is not installed.
        """
        return frames.measurements(self, id, series)

    def artifacts(self, run_id: str) -> list[answers.Artifact]:
        """The files that a run has stored."""
        return cast(list[answers.Artifact], self._get(f"{_path('runs', run_id)}/artifacts")["items"])

    def download(self, run_id: str, name: str, path: str | Path) -> Path:
        """Save a file of a run, piece by piece; it appears under its name whole or not at all.

        Args:
            name: as ``artifacts`` lists it, such as ``model.pt`` or ``figures/confusion.json``.
            path: the file to write, or a folder to write it into, in which ``figures/`` is made where it is missing.

        Returns:
            The file's path.

        Raises:
            NotFound: the run has no such file.
            OSError: the file cannot be written.
        """
        source, target = _file(run_id, name), Path(path)
        if target.is_dir():
            target = target / name
            target.parent.mkdir(exist_ok=True)

        def once() -> None:
            with self._service.stream(source) as answer:
                save(answer.iter_bytes(), target)

        self._service.patiently(once)
        return target

    def artifact_text(self, run_id: str, name: str) -> str:
        """The text of a file of a run, such as its log.

        Raises:
            NotFound: the run has no such file.
        """
        source = _file(run_id, name)

        def once() -> str:
            with self._service.stream(source) as answer:
                return answer.read().decode("utf-8", errors="replace")

        return self._service.patiently(once)

    def figure(
        self, run_id: str, name: str = "curves", *, theme: Literal["light", "dark"] | None = None
    ) -> dict[str, Any]:
        """A figure of a run as Plotly JSON, which ``plotly.graph_objects.Figure`` takes.

        Raises:
            NotFound: the run has no such figure; the message tells which it has.
        """
        return self._get(_path("runs", run_id, "figures", name), **_given(theme=theme))

    # -- what was measured elsewhere -------------------------------------------------------------

    def claim(self, result: Mapping[str, Any], *, idempotency_key: str | None = None) -> answers.SubmittedResult:
        """Submit a result that was measured elsewhere. Boards show it as claimed until three or more other seeds that
        the service runs agree. The same result again is no second one: the answer is the first.

        Args:
            result: a spec without seeds, with ``values`` (a seed and a value each) and ``provenance``, whose ``source``
                is an address.
            idempotency_key: as of ``submit``.

        Raises:
            Invalid: the result is wrong; ``errors`` says where.
            Conflict: the key was used with another result.
        """
        return self.claim_once(result, idempotency_key=idempotency_key)[0]

    def claim_once(
        self, result: Mapping[str, Any], *, idempotency_key: str | None = None
    ) -> tuple[answers.SubmittedResult, bool]:
        """Claim a result, and tell if it is new: the same spec, values and provenance are one result."""
        status, found = self._posted(RESULTS, result, headers=_keyed(idempotency_key), what="result")
        return cast(answers.SubmittedResult, found), status == httpx.codes.CREATED

    def claims(
        self,
        *,
        task: str | None = None,
        profile: str | None = None,
        method: str | None = None,
        state: answers.ResultState | None = None,
        fingerprint: str | None = None,
    ) -> Iterator[answers.SubmittedResult]:
        """All submitted results that fit, newest first, each with its state as it is now."""
        filters = _given(task=task, profile=profile, method=method, state=state, fingerprint=fingerprint)
        return self._pages(RESULTS, filters)

    def submitted_result(self, result_id: str) -> answers.SubmittedResult:
        """A submitted result, and how it agrees with what the service measured."""
        return cast(answers.SubmittedResult, self._get(_path("results", result_id)))

    def withdraw(self, result_id: str) -> answers.SubmittedResult:
        """Take a submitted result off its board."""
        path = _path("results", result_id)
        return cast(answers.SubmittedResult, self._service.call("DELETE", path, safe=True))

    # -- running again ---------------------------------------------------------------------------

    def recipe(self, experiment_id: str) -> answers.Recipe:
        """Get the recipe that runs an experiment again: exact spec, code version, packages, machine, data checksums."""
        return cast(answers.Recipe, self._get(f"{_path('experiments', experiment_id)}/replay"))

    def submit_replay(self, run_id: str) -> answers.Experiment:
        """Submit an experiment that repeats a run: the same spec and seed, on the kind of device that it had.

        Raises:
            Invalid: the run has not succeeded, so that there is nothing to compare with; nothing was submitted.
        """
        run = self.run(run_id)
        if run["state"] != "succeeded":
            raise Invalid(f"{run_id} is {run['state']}; name a run that has succeeded, to compare with")
        return self.submit(replaying.spec_of(run, self.recipe(run["experiment_id"])))

    def compare_replay(self, run_id: str, again_id: str) -> answers.Replayed:
        """Two runs of one spec and seed, point by point, and what is different about where they ran."""
        runs = self.run(run_id), self.run(again_id)
        (run, curves), (again, curves_again) = ((run, self.measurements(run["id"])) for run in runs)
        return replaying.compared(run, curves, again, curves_again)

    def replay(self, run_id: str, *, timeout: float | None = None) -> answers.Replayed:
        """Run a run again, wait, and compare.

        Args:
            timeout: seconds; for ever if None.

        Raises:
            Invalid: the run has not succeeded; nothing was submitted.
            StillRunning: ``timeout`` seconds were not enough.
            NormbenchError: the second run did not succeed.
        """
        ended = self.wait(self.submit_replay(run_id)["id"], timeout=timeout)
        if ended["state"] != "succeeded":
            raise NormbenchError(f"{ended['id']}, which repeats {run_id}, {ended['state']}")
        return self.compare_replay(run_id, ended["runs"][0]["id"])

    # -- what was found --------------------------------------------------------------------------

    def leaderboard(
        self,
        task: str,
        *,
        profile: str | None = None,
        rank_by: answers.RankBy | None = None,
        baseline: str | None = None,
        problem: str | None = None,
        published: bool = False,
        over_budget: bool = False,
        entries: Literal["all", "best"] | None = None,
        as_of: datetime | str | None = None,
        code: Literal["present", "all"] | None = None,
    ) -> answers.Leaderboard:
        """Get the leaderboard of a task.

        Args:
            profile: ``paper``, ``small`` or ``smoke``; the service's default if omitted.
            baseline: the method that speed-ups are measured against; ``none`` if omitted.
            problem: the id of one of the board's problems; the profile's own if omitted.
            published: rank the papers' numbers as well, where they have any; an entry's ``method`` is None if no
                method of ours describes the model, and its ``origin`` is the work that the paper quotes it from.
            over_budget: rank entries that had more than the board's budget as well.
            entries: ``best`` shows one a method, that with the best validation value.
            as_of: the board of this moment, with its time zone, such as ``2026-11-25T12:00:00Z``; now if omitted.
            code: ``all`` also shows runs and entries of older code, which the board sets aside.
        """
        options = _given(
            profile=profile,
            rank_by=rank_by,
            baseline=baseline,
            problem=problem,
            published=published or None,
            over_budget=over_budget or None,
            entries=entries,
            as_of=_moment(as_of),
            code=code,
        )
        return cast(answers.Leaderboard, self._get(_path("leaderboards", task), **options))

    def leaderboard_frame(self, task: str, **options: Any) -> "DataFrame":
        """A leaderboard as a data frame: a row for each entry, its fields under dotted names such as ``value.mean``.

        Args:
            options: as of ``leaderboard``.

        Raises:
            Missing: pandas is not installed.
        """
        return frames.leaderboard(self.leaderboard(task, **options))

    def overall(
        self,
        *,
        profile: str | None = None,
        rank_by: Literal["steps_to_target", "seconds_to_target"] | None = None,
    ) -> answers.Overall:
        """Get the overall leaderboard: performance profiles over all tasks, and the area beneath them.

        Args:
            profile: ``paper``, ``small`` or ``smoke``; the service's default if omitted.
            rank_by: whose medians are held beside each other; ``steps_to_target`` if omitted.
        """
        return cast(answers.Overall, self._get(OVERALL, **_given(profile=profile, rank_by=rank_by)))

    def leaderboards(self) -> list[dict[str, Any]]:
        """The boards that have entries: task, profile and problem."""
        return cast(list[dict[str, Any]], self._get("/v1/leaderboards")["items"])

    def compare(
        self,
        *entries: str,
        baseline: str | None = None,
        series: str | None = None,
        task: str | None = None,
        profile: str | None = None,
        problem: str | None = None,
    ) -> answers.Comparison:
        """Entries of one board side by side: curves, differences and speed-ups.

        Args:
            entries: two or more: fingerprints, or their first 8 or more characters; or methods of ``task``, each of
                which stands for its best entry, chosen by validation.
            baseline: one of them; the one without normalization if omitted, else the first.
            series: whose curves; that of the metric that ranks, on validation data, if omitted.
            task: the task on whose board the methods stand.
            profile: of that board; the service's default if omitted.
            problem: of that board; the profile's own if omitted.

        Raises:
            Invalid: a method is named without ``task``, or has no entry there.
        """
        named = [name for name in (*entries, baseline) if name is not None and not re.fullmatch(FINGERPRINT, name)]
        best = self._best_entries(named, task, profile, problem) if named else {}
        options = _given(
            fingerprint=[best.get(name, name) for name in entries],
            baseline=None if baseline is None else best.get(baseline, baseline),
            series=series,
        )
        return cast(answers.Comparison, self._get(COMPARISONS, **options))

    def _best_entries(
        self, methods: Sequence[str], task: str | None, profile: str | None, problem: str | None
    ) -> dict[str, str]:
        """The fingerprint of each method's best measured entry on a board.

        Raises:
            Invalid: no task is named, or a method has no entry there.
        """
        if task is None:
            raise Invalid(
                f"{methods[0]} is no fingerprint, which has 8 or more of 0-9 and a-f; if it is a method, name the task"
                " on whose board it stands"
            )
        board = self.leaderboard(task, profile=profile, problem=problem, entries="best")
        found = {e["method"]: e["fingerprint"] for e in board["entries"] if e["source"] == "measured"}
        absent = [method for method in methods if method not in found]
        if absent:
            there = ", ".join(found) or "none"
            raise Invalid(f"{absent[0]} has no entry at {task} {board['profile']}; methods with entries: {there}")
        return {method: found[method] for method in methods}

    def export(
        self,
        what: Literal["board", "overall", "comparison", "sweep", "sweeps", "experiment", "experiments", "measurements"],
        *names: str,
        format: files.FileFormat = "csv",
        **options: Any,
    ) -> bytes:
        """Rows as a file, for other programs; columns are named as the JSON's fields, as ``value.mean``.

        Args:
            what: ``board``, whose name is a task's; ``overall``; ``comparison``, whose names are fingerprints;
                ``sweep`` or ``experiment``, whose name is its id; ``sweeps`` or ``experiments``, of all pages; or
                ``measurements``, whose name is a run's id.
            options: as of ``leaderboard``, ``overall``, ``compare``, ``experiments`` and ``measurements``.

        Raises:
            Missing: ``parquet`` of more than 200 experiments or sweeps, and pyarrow is not installed.
        """
        params = _given(**options)
        if what == "board":
            path = _path("leaderboards", *names)
            params |= _given(as_of=_moment(params.pop("as_of", None)))
        elif what == "comparison":
            path, params["fingerprint"] = COMPARISONS, list(names)
        elif what == "overall":
            path = OVERALL
        elif what == "sweep":
            path = _path("sweeps", *names)
        elif what == "sweeps":
            path, params["limit"] = SWEEPS, MOST_ON_A_PAGE
        elif what == "experiment":
            path = _path("experiments", *names)
        elif what == "experiments":
            path, params["limit"], params["label"] = EXPERIMENTS, MOST_ON_A_PAGE, _labels(params.pop("labels", None))
        else:
            path = f"{_path('runs', *names)}/measurements"
        return files.file_of(self._service, path, format, params)

    def report_card(self, method: str) -> answers.ReportCard:
        """Get the measurements of a method."""
        return cast(answers.ReportCard, self._get(f"{_path('methods', method)}/report-card"))

    def catalogue(self, kind: answers.Kind) -> list[dict[str, Any]]:
        """All there is of a kind: tasks, methods, data sets or live workers."""
        return cast(list[dict[str, Any]], self._get(f"/v1/{kind}")["items"])

    def is_ready(self) -> bool:
        """Ask once if the service answers and has all that it needs."""
        try:
            self._service.call("GET", "/readyz", safe=False)
        except NormbenchError:
            return False
        return True

    def _get(self, path: str, **params: Any) -> dict[str, Any]:
        return self._service.call("GET", path, safe=True, params=params)


def _own_machine() -> str:
    """Raises:
    Unreachable: NORMBENCH_PORT is no port.
    """
    from normcore.variables import WrongVariable, default_port  # here, because who names a service needs none of it

    try:
        return f"http://127.0.0.1:{default_port(os.environ)}"
    except WrongVariable as error:
        raise Unreachable(str(error)) from None


def _given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _unsayable(what: str, content: Any, error: Exception) -> Invalid:
    """Error for a spec, sweep or result that is no JSON, with its place if there is only one."""
    from normcore.spec.files import not_json  # here, because who only asks needs no specs in memory

    loc, value = next(not_json(content), ((), None))
    if not loc:
        return Invalid(f"the {what} holds what JSON cannot: {error}")
    if isinstance(value, float):
        wrong = f"the {what} holds {json.dumps(value)}, which JSON cannot; give a finite number"
    else:
        kind = type(value).__name__
        wrong = f"the {what} holds a value of type {kind}, which JSON cannot; give text, numbers, lists or mappings"
    told: FieldError = {"loc": list(loc), "msg": wrong, "type": "not_json"}
    return Invalid(f"{'.'.join(map(str, loc))}: {wrong}", errors=[told])


def _labels(labels: Mapping[str, str] | None) -> list[str]:
    return [f"{key}:{value}" for key, value in (labels or {}).items()]


def _moment(moment: datetime | str | None) -> str | None:
    return moment.isoformat() if isinstance(moment, datetime) else moment


def _keyed(idempotency_key: str | None) -> dict[str, str]:
    """The header with which a request that is repeated submits once.

    Raises:
        Invalid: the key cannot be sent.
    """
    key = str(uuid.uuid4()) if idempotency_key is None else idempotency_key
    if not re.fullmatch(IDEMPOTENCY_KEY, key):
        raise Invalid(
            f"the idempotency key {key[:40]!r} cannot be sent;"
            " use 1 to 255 printable ASCII characters, with no space at either end"
        )
    return {"Idempotency-Key": key}


def _file(run_id: str, name: str) -> str:
    """The path of a run's file, which may stand in the folder ``figures``."""
    folder = FIGURES if name.startswith(FIGURES) and name != FIGURES else ""
    return _path("runs", run_id, "artifacts", name.removeprefix(folder)).replace("/artifacts/", f"/artifacts/{folder}")


def _path(*parts: str) -> str:
    """``/v1/runs/run_…`` from ``runs`` and the id, and so on, each id or name quoted.

    Raises:
        Invalid: an id or name is empty, or none; nothing was sent.
    """
    for kind, name in zip(parts[::2], parts[1::2], strict=True):
        if not name:
            raise Invalid(f"{NAMES[kind]} is missing: the text given for it is empty")
        if "/" in name or name in (".", "..") or not name.isprintable():
            raise Invalid(f"{name!r} is not {NAMES[kind]}")
    return "/v1/" + "/".join(quote(part, safe="") for part in parts)
