"""Client of the service: one method for each call of the HTTP API."""

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, cast

import httpx

from normbench import answers, files, frames, notebook, replaying, waiting
from normbench.connection import Connection
from normbench.download import save
from normbench.entries import best_entries, check_distinct
from normbench.errors import Invalid, NormbenchError, Unavailable, Unreachable
from normbench.event_stream import follow
from normbench.events import Event
from normbench.request_parts import (
    COMPARISONS,
    EXPERIMENTS,
    OVERALL,
    RESULTS,
    SWEEPS,
    ExportKind,
    drop_none,
    figure_request,
    idempotency_header,
    iso_time,
    json_body,
    label_filters,
    own_url,
    path_to,
    path_to_file,
    table_request,
)
from normbench.shown_answers import (
    Comparison,
    Experiment,
    Leaderboard,
    Overall,
    Pages,
    Plan,
    ReportCard,
    ShownFigure,
    ShownList,
    Sweep,
    SweepPlan,
)

if TYPE_CHECKING:
    from pandas import DataFrame

DEFAULT_URL = "http://127.0.0.1:8000"
PATIENCE = 30.0  # seconds


class Client:
    """Client of the HTTP API. Its methods return dictionaries and lists, whose fields have types.

    A notebook shows most answers as tables, and ``to_frame()`` makes a data frame of pandas of them.

    Calls that are safe to repeat (all but retries) are tried again while the service is away. Every call raises
    ``Unreachable`` if no service answers, and ``Refused`` or a subclass if the service refuses the call.

    Args:
        url: address of the service; NORMBENCH_URL if omitted, else this machine at port NORMBENCH_PORT (8000).
        key: the API key; NORMBENCH_API_KEY if omitted.
        patience: seconds for which a call is tried again.
    """

    def __init__(self, url: str | None = None, key: str | None = None, *, patience: float = PATIENCE) -> None:
        url = url or os.environ.get("NORMBENCH_URL") or own_url()
        self._service = Connection(url, key or os.environ.get("NORMBENCH_API_KEY"), patience)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections. The client cannot be used afterwards."""
        self._service.close()

    @property
    def url(self) -> str:
        return self._service.url

    # -- experiments -----------------------------------------------------------------------------

    def submit(self, spec: Mapping[str, Any], *, idempotency_key: str | None = None) -> Experiment:
        """Submit an experiment. It is submitted once, even if the request has to be repeated.

        Args:
            spec: the spec, as in a YAML file; the task's profile has what the spec omits.
            idempotency_key: 1 to 255 printable ASCII characters; a random key if omitted. Submitting the spec again
                with the same key finds the same experiment.

        Raises:
            Invalid: the spec is wrong, and ``errors`` says where; or the key is wrong, and nothing was sent.
            Conflict: the key was used with another spec.
        """
        found = self._post(EXPERIMENTS, spec, headers=idempotency_header(idempotency_key))
        return Experiment(found)

    def dry_run(self, spec: Mapping[str, Any]) -> Plan:
        """Plan a submission: number of runs, seconds, seeds that are measured already. Nothing is stored.

        Raises:
            Invalid: the spec is wrong; ``errors`` says where.
        """
        return Plan(self._post(EXPERIMENTS, spec, params={"dry_run": "true"}))

    def _post(self, path: str, content: Mapping[str, Any], **request: Any) -> Any:
        return self._post_with_status(path, content, **request)[1]

    def _post_with_status(
        self, path: str, content: Mapping[str, Any], headers: Mapping[str, str] = {}, what: str = "spec", **request: Any
    ) -> tuple[int, Any]:
        body = json_body(what, content)
        headers = {**headers, "Content-Type": "application/json"}
        return self._service.exchange("POST", path, safe=True, content=body, headers=headers, **request)

    def experiment(self, experiment_id: str) -> Experiment:
        """Get an experiment with its runs."""
        return self._experiment(experiment_id)

    def _experiment(self, experiment_id: str, within: float = math.inf) -> Experiment:
        found = self._service.call("GET", path_to("experiments", experiment_id), safe=True, within=within)
        return Experiment(found)

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
        q: str | None = None,
        page_size: int = 50,
    ) -> Pages[answers.ExperimentSummary]:
        """Iterate over the experiments that match all filters, newest first. Pages are asked for as they are needed.

        Args:
            q: text that stands in a label, the method, the task or the id.
        """
        filters = drop_none(
            task=task, profile=profile, method=method, state=state, fingerprint=fingerprint, sweep=sweep, q=q
        )
        filters |= {"limit": page_size, "label": label_filters(labels)}
        return Pages(self._pages(EXPERIMENTS, filters), "experiments")

    def _pages(self, path: str, filters: Mapping[str, Any]) -> Iterator[Any]:
        cursor: str | None = None
        while True:
            page = self._get(path, **filters, **drop_none(cursor=cursor))
            yield from page["items"]
            cursor = page["next_cursor"]
            if cursor is None:
                return

    def cancel(self, experiment_id: str) -> Experiment:
        """Cancel an experiment: queued runs stop at once, running ones within seconds."""
        path = f"{path_to('experiments', experiment_id)}/cancel"
        return Experiment(self._service.call("POST", path, safe=True))

    def retry(self, experiment_id: str) -> Experiment:
        """Open a new attempt of each failed or cancelled run of an experiment, from the run's last checkpoint."""
        path = f"{path_to('experiments', experiment_id)}/retry"
        return Experiment(self._service.call("POST", path, safe=False))

    # -- sweeps ----------------------------------------------------------------------------------

    def submit_sweep(self, sweep: Mapping[str, Any], *, idempotency_key: str | None = None) -> Sweep:
        """Submit a sweep: all its experiments, or none. It is submitted once, even if the request has to be repeated.

        Args:
            sweep: the sweep, as in a YAML file: a ``spec``, with a ``grid`` of values or ``random`` draws for some of
                the spec's fields.
            idempotency_key: as for ``submit``.

        Raises:
            Invalid: fields are wrong, or a cell is not a valid spec, and ``errors`` names each; or the key is wrong.
            Conflict: the key was used with another sweep.
        """
        found = self._post(SWEEPS, sweep, headers=idempotency_header(idempotency_key), what="sweep")
        return Sweep(found)

    def dry_run_sweep(self, sweep: Mapping[str, Any]) -> SweepPlan:
        """Plan a sweep: number of experiments and runs, seconds, runs that are measured already. Nothing is stored.

        Raises:
            Invalid: fields are wrong, or a cell is not a valid spec; ``errors`` names each.
        """
        found = self._post(SWEEPS, sweep, params={"dry_run": "true"}, what="sweep")
        return SweepPlan(found)

    def sweep(self, sweep_id: str) -> Sweep:
        """Get a sweep: its progress, and its cells with their results."""
        return self._sweep(sweep_id)

    def _sweep(self, sweep_id: str, within: float = math.inf) -> Sweep:
        found = self._service.call("GET", path_to("sweeps", sweep_id), safe=True, within=within)
        return Sweep(found)

    def sweep_importance(self, sweep_id: str) -> answers.Importance:
        """Get the importance of each field of a sweep, by a random forest. It proves nothing."""
        found = self._service.call("GET", f"{path_to('sweeps', sweep_id)}/importance", safe=True)
        return cast(answers.Importance, found)

    def sweeps(self, *, page_size: int = 50) -> Pages[answers.SweepSummary]:
        """Iterate over all sweeps, newest first. Pages are asked for as they are needed."""
        return Pages(self._pages(SWEEPS, {"limit": page_size}), "sweeps")

    def cancel_sweep(self, sweep_id: str) -> Sweep:
        """Cancel all experiments of a sweep: queued runs stop at once, running ones within seconds."""
        path = f"{path_to('sweeps', sweep_id)}/cancel"
        return Sweep(self._service.call("POST", path, safe=True))

    def retry_sweep(self, sweep_id: str) -> Sweep:
        """Open a new attempt of each failed or cancelled run of a sweep, from the run's last checkpoint."""
        path = f"{path_to('sweeps', sweep_id)}/retry"
        return Sweep(self._service.call("POST", path, safe=False))

    # -- waiting ---------------------------------------------------------------------------------

    def wait(self, experiment_id: str, *, timeout: float | None = None) -> Experiment:
        """Wait until all runs of an experiment have ended, well or badly, and return the experiment.

        A restart of the service does not end the waiting. In a notebook, one line shows the progress.

        Args:
            timeout: seconds to wait, and one or two more if the service does not answer; None waits for ever.

        Raises:
            StillRunning: the experiment had not ended after ``timeout`` seconds.
            Unreachable, Unavailable: the service never answered in that time, or was away for ten minutes.
        """
        looks = notebook.show_looks(self.looks([experiment_id], timeout=timeout))
        return waiting.wait_for_end(experiment_id, looks, timeout)

    def wait_for_sweep(self, sweep_id: str, *, timeout: float | None = None) -> Sweep:
        """Wait until all runs of a sweep have ended; return the sweep. ``timeout`` and errors are as for ``wait``."""
        looks = notebook.show_looks(self.looks_at_sweep(sweep_id, timeout=timeout))
        return waiting.wait_for_end(sweep_id, looks, timeout)

    def looks(
        self, experiment_ids: Sequence[str], *, timeout: float | None = None
    ) -> Iterator[list[Experiment] | Unreachable | Unavailable]:
        """Poll experiments: yield all of them again and again, or the error of a poll while the service is away.

        Args:
            timeout: seconds after which polling ends, with one last poll; None polls for ever.

        Raises:
            Unreachable, Unavailable: the service was away for ten minutes.
        """
        return waiting.looks([partial(self._experiment, id) for id in experiment_ids], timeout)

    def looks_at_sweep(
        self, sweep_id: str, *, timeout: float | None = None
    ) -> Iterator[list[Sweep] | Unreachable | Unavailable]:
        """Poll a sweep: yield it again and again, as a list of one, or the error of a poll. See ``looks``."""
        return waiting.looks([partial(self._sweep, sweep_id)], timeout)

    def watch(self, id: str) -> Iterator[Event]:
        """Follow a run, or each run of an experiment: yield ``StateChanged`` and ``Measured`` events as they happen.

        Ends when every run has ended. A broken connection is opened again, and goes on after the last event that was
        received. In a notebook, one line shows the progress.

        Raises:
            Unreachable, Unavailable: the service was away for ten minutes.
        """
        path = path_to("experiments" if id.startswith("exp_") else "runs", id)
        yield from notebook.show_events(follow(self._service, path, id))

    # -- runs ------------------------------------------------------------------------------------

    def run(self, run_id: str) -> answers.Run:
        """Get a run: its state, progress and history, and its result once it has ended."""
        return cast(answers.Run, self._get(path_to("runs", run_id)))

    def measurements(
        self, run_id: str, *, series: Sequence[str] = (), max_points: int | None = None
    ) -> dict[str, answers.Series]:
        """Get the curves of a run by name.

        Args:
            series: names of curves, such as ``valid.accuracy``; all curves if empty.
            max_points: the most points of each curve; extremes are kept. None gets all points.
        """
        path = f"{path_to('runs', run_id)}/measurements"
        found = self._get(path, series=list(series), **drop_none(max_points=max_points))
        return cast(dict[str, answers.Series], found["series"])

    def measurements_frame(self, id: str, *, series: Sequence[str] = ()) -> "DataFrame":
        """Get the curves of a run, or of all runs of an experiment, as a data frame: one row for each measured value.

        Columns: experiment_id, run_id, method, name, seed, series, step, value, seconds.

        Raises:
            Missing: pandas is not installed.
        """
        return frames.measurements(self, id, series)

    def curves_frame(
        self,
        *of: str | Mapping[str, Any],
        series: Sequence[str] | None = None,
        max_points: int | None = 200,
        max_runs: int = 200,
    ) -> "DataFrame":
        """Get the curves of boards, sweeps or experiments as one data frame: one row for each point.

        This takes one request for each experiment and one for each run. Runs of older code are left out. Columns are
        those of ``measurements_frame``.

        Args:
            of: boards and sweeps as this client returned them, or ids of sweeps and experiments.
            series: names of curves, such as ``valid.accuracy``. If omitted: for a board or a sweep the metric that
                ranks, on validation data; for an experiment all curves.
            max_points: the most points of each curve; extremes are kept. None gets all points.
            max_runs: the most runs whose curves are asked for.

        Raises:
            Invalid: there are more than ``max_runs`` runs, or ``of`` has something without curves.
            Missing: pandas is not installed.
        """
        return frames.curves(self, of, series, max_points, max_runs)

    def artifacts(self, run_id: str) -> ShownList[answers.Artifact]:
        """List the files that a run has stored."""
        found = self._get(f"{path_to('runs', run_id)}/artifacts")["items"]
        return ShownList(found)

    def download(self, run_id: str, name: str, path: str | Path) -> Path:
        """Save a file of a run. A download that fails leaves no part of the file behind.

        Args:
            name: name of the file as ``artifacts`` lists it, such as ``model.pt`` or ``figures/confusion.json``.
            path: the file to write, or a folder to write it into. A missing ``figures/`` is made in the folder.

        Returns:
            The path of the file that was written.

        Raises:
            NotFound: the run has no such file.
            OSError: the file cannot be written.
        """
        source, target = path_to_file(run_id, name), Path(path)
        if target.is_dir():
            target = target / name
            target.parent.mkdir(exist_ok=True)

        def once() -> None:
            with self._service.stream(source) as answer:
                save(answer.iter_bytes(), target)

        self._service.patiently(once)
        return target

    def artifact_text(self, run_id: str, name: str) -> str:
        """Get the text of a file of a run, such as its log.

        Raises:
            NotFound: the run has no such file.
        """
        source = path_to_file(run_id, name)

        def once() -> str:
            with self._service.stream(source) as answer:
                return answer.read().decode("utf-8", errors="replace")

        return self._service.patiently(once)

    def figure(
        self, run_id: str, name: str = "curves", *, theme: Literal["light", "dark"] | None = None
    ) -> dict[str, Any]:
        """Get a figure of a run as Plotly JSON, which ``plotly.graph_objects.Figure`` takes.

        Raises:
            NotFound: the run has no such figure; the message lists the figures that it has.
        """
        return ShownFigure(self._get(path_to("runs", run_id, "figures", name), **drop_none(theme=theme)))

    # -- results measured elsewhere --------------------------------------------------------------

    def claim(self, result: Mapping[str, Any], *, idempotency_key: str | None = None) -> answers.SubmittedResult:
        """Submit a result that was measured elsewhere.

        Boards show the result as claimed until three or more fresh seeds, which this service trains, agree with it.
        Submitting the same result again returns the first one.

        Args:
            result: a spec without seeds, with ``values`` (a seed and a value each) and ``provenance``, which has a URL
                under ``source``.
            idempotency_key: as for ``submit``.

        Raises:
            Invalid: the result is wrong; ``errors`` says where.
            Conflict: the key was used with another result.
        """
        return self.claim_once(result, idempotency_key=idempotency_key)[0]

    def claim_once(
        self, result: Mapping[str, Any], *, idempotency_key: str | None = None
    ) -> tuple[answers.SubmittedResult, bool]:
        """Submit a result as ``claim`` does; the second value is True if the result is new.

        A result with the spec, values and provenance of an earlier one is not new.
        """
        status, found = self._post_with_status(
            RESULTS, result, headers=idempotency_header(idempotency_key), what="result"
        )
        return cast(answers.SubmittedResult, found), status == httpx.codes.CREATED

    def claims(
        self,
        *,
        task: str | None = None,
        profile: str | None = None,
        method: str | None = None,
        state: answers.ResultState | None = None,
        fingerprint: str | None = None,
    ) -> Pages[answers.SubmittedResult]:
        """Iterate over the submitted results that match all filters, newest first, each with its present state."""
        filters = drop_none(task=task, profile=profile, method=method, state=state, fingerprint=fingerprint)
        return Pages(self._pages(RESULTS, filters), "submitted results")

    def submitted_result(self, result_id: str) -> answers.SubmittedResult:
        """Get a submitted result, with its difference from the seeds that this service measured."""
        return cast(answers.SubmittedResult, self._get(path_to("results", result_id)))

    def withdraw(self, result_id: str) -> answers.SubmittedResult:
        """Take a submitted result off its board."""
        path = path_to("results", result_id)
        return cast(answers.SubmittedResult, self._service.call("DELETE", path, safe=True))

    # -- replays ---------------------------------------------------------------------------------

    def recipe(self, experiment_id: str) -> answers.Recipe:
        """Get the recipe to run an experiment again: exact spec, code version, packages, machine, data checksums."""
        return cast(answers.Recipe, self._get(f"{path_to('experiments', experiment_id)}/replay"))

    def submit_replay(self, run_id: str) -> Experiment:
        """Submit an experiment that repeats a run: the same spec and seed, on the kind of device that the run had.

        Raises:
            Invalid: the run has not succeeded, so there is nothing to compare with. Nothing was submitted.
        """
        run = self.run(run_id)
        if run["state"] != "succeeded":
            raise Invalid(f"{run_id} is {run['state']}; name a run that has succeeded, to compare with")
        return self.submit(replaying.spec_of(run, self.recipe(run["experiment_id"])))

    def compare_replay(self, run_id: str, again_id: str) -> answers.ReplayComparison:
        """Compare two runs of one spec and seed: every curve point by point, and the environments in which they ran."""
        runs = self.run(run_id), self.run(again_id)
        (run, curves), (again, curves_again) = ((run, self.measurements(run["id"])) for run in runs)
        return replaying.compare_runs(run, curves, again, curves_again)

    def replay(self, run_id: str, *, timeout: float | None = None) -> answers.ReplayComparison:
        """Run a run again, wait until the second run has ended, and compare the two runs.

        Args:
            timeout: seconds to wait; None waits for ever.

        Raises:
            Invalid: the run has not succeeded; nothing was submitted.
            StillRunning: the second run had not ended after ``timeout`` seconds.
            NormbenchError: the second run did not succeed.
        """
        ended = self.wait(self.submit_replay(run_id)["id"], timeout=timeout)
        if ended["state"] != "succeeded":
            raise NormbenchError(f"{ended['id']}, which repeats {run_id}, {ended['state']}")
        return self.compare_replay(run_id, ended["runs"][0]["id"])

    # -- boards, comparisons, files --------------------------------------------------------------

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
    ) -> Leaderboard:
        """Get the leaderboard of a task.

        Args:
            profile: ``paper``, ``small`` or ``smoke``; the service's default if omitted.
            baseline: the method that speed-ups are measured against; ``none`` if omitted.
            problem: the id of one of the board's problems; the profile's own problem if omitted.
            published: rank the papers' numbers, too. The ``method`` of such an entry is None if no method of
                this service describes the paper's model; its ``origin`` is the work that the paper quotes it from.
            over_budget: rank entries that saw more examples than the board's budget, too.
            entries: ``best`` shows one entry of each method, the one with the best validation value.
            as_of: a time with its time zone, such as ``2026-11-25T12:00:00Z``, at which the board is read; now if
                omitted.
            code: ``all`` also shows runs and entries of older code, which the board sets aside.
        """
        options = drop_none(
            profile=profile,
            rank_by=rank_by,
            baseline=baseline,
            problem=problem,
            published=published or None,
            over_budget=over_budget or None,
            entries=entries,
            as_of=iso_time(as_of),
            code=code,
        )
        return Leaderboard(self._get(path_to("leaderboards", task), **options))

    def leaderboard_frame(self, task: str, **options: Any) -> "DataFrame":
        """Get a leaderboard as a data frame: one row for each entry. Columns have dotted names such as ``value.mean``.

        Args:
            options: as for ``leaderboard``.

        Raises:
            Missing: pandas is not installed.
        """
        return frames.leaderboard(self.leaderboard(task, **options))

    def overall(
        self,
        *,
        profile: str | None = None,
        rank_by: answers.TimeBy | None = None,
    ) -> Overall:
        """Get the overall leaderboard: performance profiles over all tasks, and the area beneath them.

        Args:
            profile: ``paper``, ``small`` or ``smoke``; the service's default if omitted.
            rank_by: the time to the target by which methods are compared; ``steps_to_target`` if omitted.
        """
        found = self._get(OVERALL, **drop_none(profile=profile, rank_by=rank_by))
        return Overall(found)

    def leaderboards(self) -> ShownList[answers.LeaderboardSummary]:
        """List the boards that have entries: task, profile and problem of each."""
        return ShownList(self._get("/v1/leaderboards")["items"])

    def compare(
        self,
        *entries: str,
        baseline: str | None = None,
        series: str | None = None,
        task: str | None = None,
        profile: str | None = None,
        problem: str | None = None,
    ) -> Comparison:
        """Compare entries of one board: curves, differences and speed-ups.

        Args:
            entries: two or more fingerprints, or the first 8 or more characters of each; or methods of ``task``. A
                method stands for its best entry, chosen by validation.
            baseline: the entry that others are compared with. If omitted: the entry without normalization, or else the
                first entry.
            series: the series whose curves are shown. If omitted: the metric that ranks, on validation data.
            task: the task of the board, if ``entries`` are methods.
            profile: the profile of that board; the service's default if omitted.
            problem: the problem of that board; the profile's own problem if omitted.

        Raises:
            Invalid: an entry is given twice; a method is named without ``task``, or has no entry on that board.
        """
        check_distinct(entries)
        best = best_entries(self, entries, baseline, task, profile, problem)
        options = drop_none(
            fingerprint=[best.get(name, name) for name in entries],
            baseline=None if baseline is None else best.get(baseline, baseline),
            series=series,
        )
        return Comparison(self._get(COMPARISONS, **options))

    def export(
        self,
        what: ExportKind,
        *names: str,
        format: files.FileFormat = "csv",
        **options: Any,
    ) -> bytes:
        """Get a table as a file. In CSV and Parquet its columns are the fields of the JSON, such as ``value.mean``.

        Args:
            what: the table. ``overall``, ``sweeps`` and ``experiments`` need no name.
            names: the task of a ``board``, the fingerprints of a ``comparison``, the id of a ``sweep`` or
                ``experiment``, or the id of the run of ``measurements``. A ``report card`` takes a method.
            format: ``latex`` and ``markdown`` make tables for papers, of a ``board``, ``overall``, ``comparison``,
                ``sweep`` or ``report card``.
            options: as for ``leaderboard``, ``overall``, ``compare``, ``experiments`` or ``measurements``.

        Raises:
            Missing: pyarrow is not installed, and ``parquet`` is asked of more than 200 experiments or sweeps.
        """
        path, params = table_request(what, names, options)
        return files.file_of(self._service, path, format, params)

    def export_figure(
        self,
        what: ExportKind,
        *names: str,
        figure: str,
        format: files.FigureFormat = "pdf",
        width: str = "3.25in",
        **options: Any,
    ) -> bytes:
        """Get a figure as a file for a paper, printed by the service.

        Args:
            what: the answer that has the figure; as for ``export``.
            figure: name of the figure, such as ``curves``; the refusal of a wrong name lists the names.
            width: width of the file: 3.25in, 8.3cm, 83mm or 234pt.

        Raises:
            NotFound: there is no such figure.
            Invalid: the width is wrong.
            Refused: the service lacks matplotlib, and the message says how to install it.
        """
        path, params = figure_request(what, names, figure, options)
        return files.content_at(self._service, path, {**params, "format": format, "width": width})

    def report_card(self, method: str) -> ReportCard:
        """Get the report card of a method: its results in all analyses and tasks that this service has run."""
        found = self._get(f"{path_to('methods', method)}/report-card")
        return ReportCard(found)

    def cite(self, name: str) -> answers.Citation:
        """Get what to cite for a task, a method, a data set or an experiment: papers, data sets and this software.

        Raises:
            NotFound: nothing has this name; the message suggests a similar name.
        """
        return cast(answers.Citation, self._get(path_to("citations", name)))

    def catalogue(self, kind: answers.Kind) -> ShownList[dict[str, Any]]:
        """List all things of one kind: tasks, methods, data sets or live workers."""
        return ShownList(self._get(f"/v1/{kind}")["items"])

    def content(self, address: str) -> bytes:
        """Get what the service has at an address, such as a page, as bytes.

        Args:
            address: path on the service with its query, such as ``/boards/permuted_digits?profile=smoke``.
        """
        return files.content_at(self._service, address)

    def is_ready(self) -> bool:
        """Tell if the service answers and has everything that it needs. The service is asked once."""
        try:
            self._service.call("GET", "/readyz", safe=False)
        except NormbenchError:
            return False
        return True

    def _get(self, path: str, **params: Any) -> dict[str, Any]:
        return self._service.call("GET", path, safe=True, params=params)
