"""Tables of experiments, runs and measurements: one row for each experiment, run, or measured value."""

from collections.abc import Callable, Sequence
from typing import get_args

from service.experiments.schemas import ExperimentOut, ExperimentSummary, MeasurementsOut, RunOut, State
from service.http.tables import Column, Table

EXPERIMENTS_ROW = "A row for each experiment of the page; `Link` has the next page."
EXPERIMENTS_EXAMPLE = '"id","fingerprint","state","task"\n"exp_01KAJ3V1Z8Q4N7M2X5C6B9D0EF","9a2e…","queued","char_lm"\n'
RUNS_ROW = "A row for each run."
RUNS_EXAMPLE = '"experiment_id","id","seed","state","result.value"\n"exp_01KAJ3…","run_01KAJ3…",0,"succeeded",0.91\n'
MEASUREMENTS_ROW = "A row for each measured value."
MEASUREMENTS_EXAMPLE = '"series","unit","step","value","seconds"\n"valid.accuracy","",20,0.4,1.5\n'


def _runs(state: State) -> Callable[[ExperimentSummary], int]:
    return lambda experiment: experiment.runs_by_state.get(state, 0)


EXPERIMENT = (
    Column("id", "text"),
    Column("fingerprint", "text"),
    Column("state", "text"),
    Column("task", "text", lambda e: e.spec["task"]["name"]),
    Column("profile", "text", lambda e: e.spec["task"]["profile"]),
    Column("method", "text", lambda e: (e.spec["norm"] or {}).get("method")),
    Column("name", "text"),
    Column("seeds", "json", lambda e: e.spec["seeds"]),
    Column("device", "text", lambda e: e.spec["device"]),
    Column("priority", "integer", lambda e: e.spec["priority"]),
    Column("labels", "json", lambda e: e.spec["labels"]),
    *(Column(f"runs_by_state.{state}", "integer", _runs(state)) for state in get_args(State)),
    Column("n_diverged", "integer"),
    Column("created_at", "moment"),
    Column("spec", "json"),
)


RUN = (
    Column("experiment_id", "text"),
    Column("id", "text"),
    Column("seed", "integer"),
    Column("state", "text"),
    Column("outcome", "text"),
    Column("attempt", "integer"),
    Column("progress.step", "integer"),
    Column("progress.max_steps", "integer"),
    Column("result.metric", "text"),
    Column("result.value", "number"),
    Column("result.valid_value", "number"),
    Column("result.step", "integer"),
    Column("result.steps_to_target", "number"),
    Column("result.seconds_to_target", "number"),
    Column("result.train_seconds", "number"),
    Column("of_older_code", "truth"),
    Column("device", "text"),
    Column("kernel", "text"),
    Column("error", "text"),
    Column("created_at", "moment"),
    Column("started_at", "moment"),
    Column("finished_at", "moment"),
    Column("result", "json"),
)


def runs_table(experiment: ExperimentOut) -> Table:
    """Table of an experiment's runs, with all fields of each result."""
    id, *rest = RUN
    return Table(experiment.id, (id, Column("name", "text", lambda _: experiment.name), *rest), experiment.runs)


def experiments_table(experiments: Sequence[ExperimentSummary]) -> Table:
    """Table of a list of experiments, with all fields of each spec."""
    return Table("experiments", EXPERIMENT, experiments)


def measurements_table(run: RunOut, measured: MeasurementsOut) -> Table:
    """Table of all series of a run, one series after the other."""
    rows = [(name, series.unit, *point) for name, series in measured.series.items() for point in series.points]
    return Table(
        run.id,
        (
            Column("experiment_id", "text", lambda _: run.experiment_id),
            Column("run_id", "text", lambda _: run.id),
            Column("seed", "integer", lambda _: run.seed),
            Column("series", "text", lambda row: row[0]),
            Column("unit", "text", lambda row: row[1]),
            Column("step", "integer", lambda row: row[2]),
            Column("value", "number", lambda row: row[3]),
            Column("seconds", "number", lambda row: row[4]),
        ),
        rows,
    )
