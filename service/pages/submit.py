"""The page that submits an experiment or a sweep, and shows its cost before. A field with several values makes a sweep.

The fields and the YAML say the same; the one that was edited last counts. Each change sends the form, and the page that
comes back shows the new cost. A script sends the form and puts the answer into the page; without scripts a button sends
the form.
"""

import json
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

from fastapi import Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, Response

from normcore.spec import TASKS, SpecError, parse
from normcore.spec.analyses import ANALYSES
from normcore.spec.files import dump_yaml, load_yaml
from normcore.spec.methods import METHODS
from normcore.spec.task import ProfileName
from normcore.spec.tasks import BENCHMARKS
from service import wording
from service.catalogue import descriptions
from service.errors import Conflict, Invalid
from service.experiments import api, queries
from service.http.bodies import MAX_YAML_BYTES
from service.http.dependencies import AppParts, AppPartsDep
from service.http.readers import in_reader
from service.http.routing import check_known
from service.leaderboards.seeds import BETTER
from service.pages.estimates import estimate, estimate_sweep
from service.pages.experiment import backlog_of
from service.pages.forms import OwnSpecFields
from service.pages.paths import NOTHING, at, put
from service.pages.rendering import page
from service.pages.routing import PageRouter
from service.pages.spec_changes import ALL, ALSO, RESET, REST, SHOWN, Pairs, reduce_spec, written_spec
from service.pages.spec_fields import FIRST, METHOD, PROFILE, TASK
from service.pages.spec_form import CELL, SpecForm, form_of
from service.pages.sweep_draft import (
    SweepDraft,
    is_sweep,
    place_errors,
    read_body,
    read_object,
    read_rest,
    with_methods,
)
from service.sweeps import api as sweeps_api
from service.sweeps.schemas import SweepPlan

router = PageRouter()

PARTS = ("task", "norm", "model", "training")  # the order of a spec's parts in YAML
NOT_ASKED = ("spec_version", "kind")  # fields of a resolved spec that follow from its other fields
MAX_SEEDS = 100  # that a link may ask for
FIRST_SEEDS = list(range(BETTER))  # seeds that the form of a benchmark begins with
KEY = re.compile(r"page-[\w-]{22}", re.ASCII)  # of ``_new_key``; a database refuses keys of other forms
SENT_BEFORE = "this form was sent before, with another spec; send it again to submit this spec too"


@router.get("/submit")
def get_submit(
    request: Request,
    parts: AppPartsDep,
    task: Annotated[str | None, Query()] = None,
    profile: Annotated[ProfileName | None, Query()] = None,
    method: Annotated[str | None, Query()] = None,
    cell: Annotated[str | None, Query()] = None,
    source: Annotated[str | None, Query(alias="from")] = None,
    seeds: Annotated[int | None, Query(ge=1, le=MAX_SEEDS)] = None,
) -> Response:
    """Page that submits an experiment, with its cost."""
    check_known("task", task, TASKS)
    check_known("method", method, METHODS)
    spec = _spec_of(parts, source) if source else {}
    for path, value in {TASK: task, PROFILE: profile, METHOD: method, CELL: cell}.items():
        if value is not None:
            put(spec, path, value)
    spec = _with_first_choices(spec)
    if seeds is not None:
        spec["seeds"] = _list_missing_seeds(parts, spec, seeds) or spec.get("seeds", [0])
    elif not source and at(spec, TASK) in BENCHMARKS:
        spec["seeds"] = list(FIRST_SEEDS)
    return _page(request, parts, Draft(SweepDraft(spec)), None)


def _list_missing_seeds(parts: AppParts, spec: Mapping[str, Any], seeds: int) -> list[int]:
    """Seeds from 0 to ``seeds`` - 1 that are not measured yet; all of them if the spec is not valid."""
    every = list(range(seeds))
    try:
        measured = api.plan(parts, {**spec, "seeds": every}).measured_seeds
    except Invalid:
        return every
    return [seed for seed in every if seed not in measured]


@router.post("/submit")
async def submit(request: Request, parts: AppPartsDep, fields: OwnSpecFields) -> Response:
    """Submit the experiment or sweep, or show the form again with its cost or its errors."""
    draft = await in_reader(_draft, fields)  # reading YAML takes long
    if draft.wants_submission and not draft.errors:
        try:
            return RedirectResponse(await _submit(parts, draft), status_code=303)
        except Invalid as error:
            draft.status, draft.errors = 422, error.errors
        except Conflict:
            draft.status, draft.key, draft.errors = 409, _new_key(), [SpecError((), SENT_BEFORE, "conflict")]
    elif draft.wants_submission:
        draft.status = 422
    return await run_in_threadpool(_page, request, parts, draft, await _plan_sweep(parts, draft))


async def _submit(parts: AppParts, draft: "Draft") -> str:
    """Store the experiment or the sweep, and return the address of its page."""
    if is_sweep(draft.body):
        return f"/sweeps/{(await sweeps_api.submit(parts, draft.body, draft.key)).sweep_id}"
    experiment, _ = await api.submit(parts, draft.body, draft.key)
    return f"/experiments/{experiment.id}"


async def _plan_sweep(parts: AppParts, draft: "Draft") -> SweepPlan | None:
    """Plan the sweep of a draft, or note its errors; None for a single experiment."""
    if draft.errors or not is_sweep(draft.body):
        return None
    try:
        return await sweeps_api.plan(parts, draft.body)
    except Invalid as error:
        draft.errors = error.errors
        return None


def _new_key() -> str:
    return f"page-{secrets.token_urlsafe(16)}"


@dataclass
class Draft:
    """Spec or sweep that a user is writing.

    Attributes:
        shown: what the fields of the form show.
        body: what is submitted: a spec, or a sweep.
        key: idempotency key: a form that is sent again with this key submits no second experiment.
        yaml: text that the user typed as YAML; None if the fields count.
        wants_submission: whether the user pressed "Submit"; otherwise the page only shows the cost.
        status: HTTP status of the page.
        errors: what is wrong with the spec.
    """

    shown: SweepDraft
    body: Any = None
    key: str = field(default_factory=_new_key)
    yaml: str | None = None
    wants_submission: bool = False
    status: int = 200
    errors: list[SpecError] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.body is None:
            self.body, self.errors = self.shown.body()


def _draft(fields: Pairs) -> Draft:
    """Read a draft from the fields that a form has sent."""
    fields = [(name, text.replace("\r\n", "\n")) for name, text in fields]
    given = dict(fields)
    key = given.get("idempotency_key", "")
    key, wants_submission = key if KEY.fullmatch(key) else _new_key(), given.get("action") == "submit"
    yaml, errors = None, list[SpecError]()
    if _yaml_counts(given):
        yaml = given["yaml"]
        body = _read(yaml)
        if isinstance(body, dict):
            return Draft(read_body(body), body, key, yaml, wants_submission)
        errors = [SpecError(("yaml",), body, "yaml")]
    rest = {} if given.get(RESET) == ALL else read_rest(given.get(REST, ""))
    spec = SweepDraft(_with_usual_seeds(_with_first_choices(written_spec(fields)), given), rest=rest)
    also = [] if given.get(RESET) in (ALL, METHOD) else [text for name, text in fields if name == ALSO]
    draft = Draft(with_methods(spec, also), None, key, yaml, wants_submission)
    draft.errors = errors or draft.errors
    return draft


def _with_usual_seeds(spec: dict[str, Any], given: Mapping[str, str]) -> dict[str, Any]:
    """Leave out the seeds that the form began with, if the user has changed from a benchmark to an analysis."""
    was = read_object(given.get(SHOWN, ""))
    if at(was, TASK) in BENCHMARKS and at(spec, TASK) not in BENCHMARKS and spec.get("seeds") == FIRST_SEEDS:
        return {name: part for name, part in spec.items() if name != "seeds"}
    return spec


def _yaml_counts(given: Mapping[str, str]) -> bool:
    """Tell if the YAML counts, rather than the fields.

    A script says which of them was edited last. Without scripts the YAML counts if it was edited.
    """
    if "yaml" not in given or "reset" in given:
        return False
    if given.get("edited"):
        return given["edited"] == "yaml"
    return given["yaml"].strip() != given.get("yaml_shown", "").strip()


def _read(text: str) -> dict[str, Any] | str:
    """Read a spec from YAML. Returns the spec, or a message on what is wrong with the text."""
    if len(text.encode()) > MAX_YAML_BYTES:
        return f"the YAML has over {MAX_YAML_BYTES:,} bytes; shorten it"
    try:
        spec = load_yaml(text)
    except ValueError as error:
        return str(error)
    return spec if isinstance(spec, dict) else "expected names and values, as task: {name: permuted_digits}"


def _spec_of(parts: AppParts, experiment_id: str) -> dict[str, Any]:
    """Spec of an earlier experiment, without what its profile has anyway."""
    with parts.db.snapshot() as session:
        stored = queries.experiment(session, experiment_id).spec
    return reduce_spec(parse(stored).model_dump(mode="json"))


def _with_first_choices(spec: dict[str, Any]) -> dict[str, Any]:
    """Add the task, profile and method that the spec does not name, and put the parts of the spec in order."""
    skeleton = form_of(spec).skeleton
    for path in FIRST:
        if at(spec, path) is NOTHING and at(skeleton, path) is not NOTHING:
            put(spec, path, at(skeleton, path))
    return {**{part: spec[part] for part in PARTS if part in spec}, **spec}


class Complaint(NamedTuple):
    """Line of the summary of errors.

    Attributes:
        where: what is wrong: the dotted path in the spec, or "YAML".
        link: id of the element that is wrong; empty if the page has no such element.
    """

    where: str
    message: str
    link: str


def complaints(errors: Sequence[SpecError], form: SpecForm) -> list[Complaint]:
    """Make the summary of errors, a line for each. The error of a field is also added to the field."""
    found = []
    for error in errors:
        where, message = ".".join(map(str, error.loc)), f"{error.msg[:1].upper()}{error.msg[1:]}"
        above = [".".join(map(str, error.loc[:k])) for k in range(len(error.loc), 0, -1)]
        name = next((one for one in above if one in form.fields), None)
        if name is not None:
            inner = where.removeprefix(name).removeprefix(".")
            form.fields[name].errors.append(f"{inner}: {message}" if inner else message)
            found.append(Complaint(where, message, f"f-{name}"))
        elif where == "yaml":
            found.append(Complaint("YAML", message, "f-yaml"))
        else:
            found.append(Complaint(where, message, f"g-{where}" if where in form.names else ""))
    return found


def _name_rest(rest: Mapping[str, Any]) -> str:
    """Name the swept fields that the form does not show."""
    paths = [*rest.get("grid", {}), *(rest["random"] if isinstance(rest.get("random"), Mapping) else ())]
    return wording.listed([str(path) for path in paths])


def _page(request: Request, parts: AppParts, draft: Draft, sweep: SweepPlan | None) -> Response:
    plan = cost = None
    if not draft.errors and sweep is None:
        try:
            plan = api.plan(parts, draft.body)
        except Invalid as error:
            draft.errors = error.errors
    if plan is not None:
        with parts.db.snapshot() as session:
            cost = estimate(plan, backlog_of(session, parts, plan.spec["device"]))
    elif sweep is not None:
        device = draft.body["spec"].get("device", "auto")
        with parts.db.snapshot() as session:
            cost = estimate_sweep(sweep, device, backlog_of(session, parts, device))
    form = form_of(draft.shown.spec)
    summary = complaints(place_errors(draft.errors, form) if is_sweep(draft.body) else draft.errors, form)
    return page(
        request,
        "submit/submit.html",
        status=draft.status,
        form=form,
        draft=draft,
        plan=plan,
        estimate=cost,
        summary=summary,
        methods=list(METHODS) if METHOD in form.fields else [],
        rest=json.dumps(draft.shown.rest) if draft.shown.rest else "",
        kept=_name_rest(draft.shown.rest),
        yaml=draft.yaml if draft.yaml is not None else dump_yaml(draft.body),
        yaml_errors=[one.message for one in summary if one.link == "f-yaml"],
        task=descriptions.task(at(form.skeleton, TASK)),
        analyses=list(ANALYSES),
        resolved=dump_yaml({k: v for k, v in plan.spec.items() if k not in NOT_ASKED}) if plan else None,
    )
