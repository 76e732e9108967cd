"""The page that lists experiments, newest first, with filters."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Annotated, Any, get_args

from fastapi import Depends, Query, Request
from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError
from starlette.responses import Response

from normcore.events import Outcome
from normcore.spec import TASKS
from normcore.spec.experiment import MAX_LABELS
from normcore.spec.messages import message
from normcore.spec.methods import METHODS
from normcore.spec.names import changes_of, differences
from normcore.spec.task import ProfileName
from normcore.spec.tasks import BENCHMARKS
from service.db import Database, utc_now
from service.experiments import parameters, queries
from service.experiments.schemas import ExperimentSummary, State, cell_of_analysis
from service.http.dependencies import DatabaseDep
from service.http.pages import Cursor
from service.http.routing import check_known
from service.pages.rendering import address, page
from service.pages.routing import PageRouter
from service.statistics.values import mean

RunResult = tuple[float | None, Outcome | None]
ON_A_PAGE = 50
PATH = "/experiments"

router = PageRouter()


def _drop_empty(content: Any) -> Any:
    """Treat an empty field of a form as not given."""
    if isinstance(content, list):
        return [text for text in content if text]
    return content or None


Blank = BeforeValidator(_drop_empty)
TYPED: Mapping[str, TypeAdapter[Any]] = {
    "label": TypeAdapter(Annotated[list[parameters.Label], Field(max_length=MAX_LABELS)] | None),
    "fingerprint": TypeAdapter(parameters.Beginning | None),
}


@dataclass(frozen=True, slots=True)
class Filters:
    """Filters of the list of experiments. An empty filter lets all experiments pass."""

    task: Annotated[parameters.TaskName, Blank] = None
    profile: Annotated[parameters.Profile, Blank] = None
    method: Annotated[parameters.MethodName, Blank] = None
    state: Annotated[parameters.State, Blank] = None
    label: Annotated[list[str], Query(), Blank] = ()  # type: ignore[assignment]
    sweep: Annotated[parameters.SweepId, Blank] = None
    fingerprint: Annotated[str | None, Query(), Blank] = None

    @property
    def asked(self) -> Mapping[str, Any]:
        """Filters that are set, as query parameters of an address."""
        return {name: content for name, content in asdict(self).items() if content}

    @property
    def errors(self) -> Mapping[str, str]:
        """Errors of the filters that a user types, by field. Each error says what to type instead."""
        found = {name: _error(form, getattr(self, name)) for name, form in TYPED.items()}
        return {name: error for name, error in found.items() if error}


def _error(form: TypeAdapter[Any], content: Any) -> str:
    try:
        form.validate_python(content or None)
    except ValidationError as error:
        return message(error.errors()[0])
    return ""


@dataclass(frozen=True, slots=True)
class ExperimentRow:
    """Row of the list of experiments.

    Attributes:
        mean: mean value of the runs that did not diverge; None while there is no value.
        metric: metric of the values; None for an analysis.
        changed: the options that differ from the profile, without the method.
        age: seconds since the experiment was submitted.
    """

    experiment: ExperimentSummary
    mean: float | None
    metric: str | None
    changed: str
    age: float


@router.get(PATH)
def list_experiments(
    request: Request, db: DatabaseDep, filters: Annotated[Filters, Depends()], cursor: Cursor = None
) -> Response:
    """Page of the list of experiments."""
    check_known("task", filters.task, TASKS)
    check_known("method", filters.method, METHODS)
    errors = filters.errors
    found, results = ([], {}) if errors else _find_experiments(db, filters, cursor)
    shown = found[:ON_A_PAGE]
    last = shown[-1].id if len(found) > ON_A_PAGE else None
    return page(
        request,
        "experiments/list.html",
        status=422 if errors else 200,
        errors=errors,
        rows=rows(shown, results, utc_now()),
        filters=filters,
        wrong_labels_first=sorted(filters.label, key=lambda text: ":" in text),
        first=address(PATH, **filters.asked) if cursor else None,
        older=address(PATH, **filters.asked, cursor=last) if last else None,
        call=address("/v1/experiments", **filters.asked, cursor=cursor),
        choices={
            "state": _choices("any", get_args(State)),
            "task": _choices("all", sorted(TASKS)),
            "profile": _choices("all", get_args(ProfileName)),
            "method": _choices("all", sorted(METHODS)),
        },
    )


def _find_experiments(
    db: Database, filters: Filters, cursor: str | None
) -> tuple[list[ExperimentSummary], Mapping[str, Sequence[RunResult]]]:
    """Experiments of a page, and the first experiment of the next page, if there is one; and results by experiment."""
    with db.snapshot() as session:
        found = queries.experiments(
            session,
            task=filters.task,
            profile=filters.profile,
            method=filters.method,
            sweep_id=filters.sweep,
            fingerprint=filters.fingerprint,
            labels=filters.label,
            state=filters.state,
            before=cursor,
            limit=ON_A_PAGE + 1,
        )
        return found, queries.results(session, [experiment.id for experiment in found])


def _choices(everything: str, names: Sequence[str]) -> list[tuple[str, str]]:
    """Values and texts of a select field. The first choice does not filter."""
    return [("", everything), *((name, name) for name in names)]


def rows(
    shown: Sequence[ExperimentSummary], results: Mapping[str, Sequence[RunResult]], now: datetime
) -> list[ExperimentRow]:
    """Rows of the list of experiments.

    Args:
        results: results of the succeeded runs, by the id of the experiment.
    """
    return [_row(experiment, results[experiment.id], now) for experiment in shown]


def _row(experiment: ExperimentSummary, results: Sequence[RunResult], now: datetime) -> ExperimentRow:
    spec = experiment.spec
    benchmark = BENCHMARKS.get(spec["task"]["name"])
    metric = benchmark.metric() if benchmark else None
    values = [found for found, outcome in results if found is not None and outcome != "diverged"]
    return ExperimentRow(
        experiment=experiment,
        mean=mean(values) if metric else None,
        metric=metric.name if metric else None,
        changed=differences(changes_of(spec) or cell_of_analysis(spec)),
        age=(now - experiment.created_at).total_seconds(),
    )
