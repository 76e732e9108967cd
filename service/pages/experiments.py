"""The page that lists experiments, with filters and orders."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Annotated, Any, get_args

from fastapi import Depends, Query, Request
from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError
from sqlalchemy.orm import Session
from starlette.responses import Response

from normcore.events import Outcome
from normcore.spec import TASKS
from normcore.spec.experiment import MAX_LABELS
from normcore.spec.messages import message
from normcore.spec.methods import METHODS
from normcore.spec.names import changes_of, differences
from normcore.spec.task import ProfileName
from normcore.spec.tasks import BENCHMARKS
from service.db import utc_now
from service.experiments import parameters, queries
from service.experiments.orders import FIRST, MOST, NEWEST, TITLES, Column, Order, read_sorted, turn_round
from service.experiments.schemas import ExperimentSummary, State, cell_of_analysis
from service.http.dependencies import DatabaseDep
from service.http.pages import Cursor
from service.http.routing import check_known
from service.pages.rendering import address, page
from service.pages.routing import PageRouter
from service.statistics.values import mean

RunResult = tuple[float | None, Outcome | None]
ON_A_PAGE = 50
MOST_LABELS = 50  # labels that the field for a label suggests
TAIL = 6  # last characters of an id, which differ between experiments of one millisecond
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
    q: Annotated[parameters.Text, Blank] = None

    @property
    def asked(self) -> Mapping[str, Any]:
        """Filters that are set, as query parameters of an address."""
        return {name: content for name, content in asdict(self).items() if content}

    @property
    def wanted(self) -> Mapping[str, Any]:
        """Filters as ``queries.matching`` takes them."""
        names = {"sweep": "sweep_id", "label": "labels", "q": "text"}
        return {names.get(name, name): content for name, content in asdict(self).items()}

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
        name: name of the spec, or of the task of an analysis without method.
        tail: end of the id, if another row of the list has the same name, task and profile; else empty.
        mean: mean value of the runs that did not diverge; None while there is no value.
        metric: metric of the values; None for an analysis.
        changed: the options that differ from the profile, without the method.
        age: seconds since the experiment was submitted.
    """

    experiment: ExperimentSummary
    name: str
    tail: str
    mean: float | None
    metric: str | None
    changed: str
    age: float

    @property
    def is_comparable(self) -> bool:
        """Tell if the experiment has a result that a comparison can show."""
        return self.metric is not None and self.experiment.runs_by_state.get("succeeded", 0) > 0


@router.get(PATH)
def list_experiments(
    request: Request,
    db: DatabaseDep,
    filters: Annotated[Filters, Depends()],
    order: Annotated[Order, Query()] = NEWEST,
    cursor: Cursor = None,
    number: Annotated[int, Query(alias="page", ge=1, le=MOST // ON_A_PAGE)] = 1,
) -> Response:
    """Page of the list of experiments."""
    check_known("task", filters.task, TASKS)
    check_known("method", filters.method, METHODS)
    errors = filters.errors
    with db.snapshot() as session:
        listed = ListPage([]) if errors else _list(session, filters, order, cursor, number)
        results = queries.results(session, [experiment.id for experiment in listed.shown])
        labels = queries.read_frequent_labels(session, MOST_LABELS)
    asked = {**filters.asked, **({} if order == NEWEST else {"order": order})}
    return page(
        request,
        "experiments/list.html",
        status=422 if errors else 200,
        errors=errors,
        rows=rows(listed.shown, results, utc_now()),
        filters=filters,
        order=order,
        heads={column: _head(column, order, filters) for column in FIRST},
        known_labels=labels,
        wrong_labels_first=sorted(filters.label, key=lambda text: ":" in text),
        sorted_of=None if listed.all else MOST,
        first=address(PATH, **asked) if cursor or number > 1 else None,
        older=address(PATH, **asked, **listed.next) if listed.next else None,
        call=address("/v1/experiments", **filters.asked, cursor=cursor),
        choices={
            "state": _choices("any", get_args(State)),
            "task": _choices("all", sorted(TASKS)),
            "profile": _choices("all", get_args(ProfileName)),
            "method": _choices("all", sorted(METHODS)),
            "order": list(TITLES.items()),
        },
    )


@dataclass(frozen=True, slots=True)
class ListPage:
    """Experiments of a page.

    Attributes:
        next: parameters of the next page; empty on the last page.
        all: whether all experiments that pass the filters took part in the order.
    """

    shown: Sequence[ExperimentSummary]
    next: Mapping[str, Any] = field(default_factory=dict)
    all: bool = True


def _list(session: Session, filters: Filters, order: Order, cursor: str | None, number: int) -> ListPage:
    """Read the experiments of a page: the newest after a cursor, or a page of another order."""
    if order == NEWEST:
        found = queries.experiments(session, **filters.wanted, before=cursor, limit=ON_A_PAGE + 1)
        shown = found[:ON_A_PAGE]
        return ListPage(shown, {"cursor": shown[-1].id} if len(found) > ON_A_PAGE else {})
    page = read_sorted(session, queries.matching(**filters.wanted), order, page=number, size=ON_A_PAGE)
    return ListPage(page.shown, {"page": number + 1} if page.sorted > number * ON_A_PAGE else {}, page.all)


def _head(column: Column, order: Order, filters: Filters) -> tuple[str, str]:
    """Address that sorts by a column, and how the column is sorted now (``aria-sort``).

    A click on the head of the column that is sorted turns the order round.
    """
    is_own = order.removeprefix("-") == column
    wanted = turn_round(order) if is_own else FIRST[column]
    now = "none" if not is_own else "descending" if order.startswith("-") else "ascending"
    return address(PATH, **filters.asked, order=None if wanted == NEWEST else wanted), now


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
    names = [one.name or one.spec["task"]["name"] for one in shown]
    tails = find_tails(shown, names)
    return [_row(one, name, tail, results[one.id], now) for one, name, tail in zip(shown, names, tails, strict=True)]


def find_tails(shown: Sequence[ExperimentSummary], names: Sequence[str | None]) -> list[str]:
    """End of the id of each experiment that has the same name, task and profile as another one; else an empty text."""
    tasks = [(one.spec["task"]["name"], one.spec["task"]["profile"]) for one in shown]
    counted = Counter(zip(names, tasks, strict=True))
    return [
        one.id[-TAIL:] if counted[name, task] > 1 else "" for one, name, task in zip(shown, names, tasks, strict=True)
    ]


def _row(
    experiment: ExperimentSummary, name: str, tail: str, results: Sequence[RunResult], now: datetime
) -> ExperimentRow:
    spec = experiment.spec
    benchmark = BENCHMARKS.get(spec["task"]["name"])
    metric = benchmark.metric() if benchmark else None
    values = [found for found, outcome in results if found is not None and outcome != "diverged"]
    return ExperimentRow(
        experiment=experiment,
        name=name,
        tail=tail,
        mean=mean(values) if metric else None,
        metric=metric.name if metric else None,
        changed=differences(changes_of(spec) or cell_of_analysis(spec)),
        age=(now - experiment.created_at).total_seconds(),
    )
