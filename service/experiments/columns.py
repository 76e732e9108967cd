"""Tables of experiments, runs and measurements: one row for each experiment, run, or measured value."""

from collections.abc import Callable, Sequence
from typing import get_args

from service.experiments.schemas import ExperimentOut, ExperimentSummary, MeasurementsOut, RunOut, State
from service.http.tables import ExportColumn, ExportTable

EXPERIMENTS_ROW = "A row for each experiment of the page; `Link` has the next page."
EXPERIMENTS_EXAMPLE = '"id","fingerprint","state","task"\n"exp_01KAJ3V1Z8Q4N7M2X5C6B9D0EF","9a2e…","queued","char_lm"\n'
RUNS_ROW = "A row for each run."
RUNS_EXAMPLE = '"experiment_id","id","seed","state","result.value"\n"exp_01KAJ3…","run_01KAJ3…",0,"succeeded",0.91\n'
MEASUREMENTS_ROW = "A row for each measured value."
MEASUREMENTS_EXAMPLE = '"series","unit","step","value","seconds"\n"valid.accuracy","",20,0.4,1.5\n'


def _runs(state: State) -> Callable[[ExperimentSummary], int]:
    return lambda experiment: experiment.runs_by_state.get(state, 0)


EXPERIMENT = (
    ExportColumn("id", "text"),
    ExportColumn("fingerprint", "text"),
    ExportColumn("state", "text"),
    ExportColumn("task", "text", lambda e: e.spec["task"]["name"]),
    ExportColumn("profile", "text", lambda e: e.spec["task"]["profile"]),
    ExportColumn("method", "text", lambda e: (e.spec["norm"] or {}).get("method")),
    ExportColumn("name", "text"),
    ExportColumn("seeds", "json", lambda e: e.spec["seeds"]),
    ExportColumn("device", "text", lambda e: e.spec["device"]),
    ExportColumn("priority", "integer", lambda e: e.spec["priority"]),
    ExportColumn("labels", "json", lambda e: e.spec["labels"]),
    *(ExportColumn(f"runs_by_state.{state}", "integer", _runs(state)) for state in get_args(State)),
    ExportColumn("n_diverged", "integer"),
    ExportColumn("created_at", "moment"),
    ExportColumn("spec", "json"),
)


RUN = (
    ExportColumn("experiment_id", "text"),
    ExportColumn("id", "text"),
    ExportColumn("seed", "integer"),
    ExportColumn("state", "text"),
    ExportColumn("outcome", "text"),
    ExportColumn("attempt", "integer"),
    ExportColumn("progress.step", "integer"),
    ExportColumn("progress.max_steps", "integer"),
    ExportColumn("result.metric", "text"),
    ExportColumn("result.value", "number"),
    ExportColumn("result.valid_value", "number"),
    ExportColumn("result.step", "integer"),
    ExportColumn("result.steps_to_target", "number"),
    ExportColumn("result.seconds_to_target", "number"),
    ExportColumn("result.train_seconds", "number"),
    ExportColumn("of_older_code", "truth"),
    ExportColumn("device", "text"),
    ExportColumn("kernel", "text"),
    ExportColumn("error", "text"),
    ExportColumn("created_at", "moment"),
    ExportColumn("started_at", "moment"),
    ExportColumn("finished_at", "moment"),
    ExportColumn("result", "json"),
)


def runs_table(experiment: ExperimentOut) -> ExportTable:
    """Table of an experiment's runs, with all fields of each result."""
    id, *rest = RUN
    return ExportTable(
        experiment.id, (id, ExportColumn("name", "text", lambda _: experiment.name), *rest), experiment.runs
    )


def experiments_table(experiments: Sequence[ExperimentSummary]) -> ExportTable:
    """Table of a list of experiments, with all fields of each spec."""
    return ExportTable("experiments", EXPERIMENT, experiments)


def measurements_table(run: RunOut, measured: MeasurementsOut) -> ExportTable:
    """Table of all series of a run, one series after the other."""
    rows = [(name, series.unit, *point) for name, series in measured.series.items() for point in series.points]
    return ExportTable(
        run.id,
        (
            ExportColumn("experiment_id", "text", lambda _: run.experiment_id),
            ExportColumn("run_id", "text", lambda _: run.id),
            ExportColumn("seed", "integer", lambda _: run.seed),
            ExportColumn("series", "text", lambda row: row[0]),
            ExportColumn("unit", "text", lambda row: row[1]),
            ExportColumn("step", "integer", lambda row: row[2]),
            ExportColumn("value", "number", lambda row: row[3]),
            ExportColumn("seconds", "number", lambda row: row[4]),
        ),
        rows,
    )
