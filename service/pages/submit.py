"""The page that submits an experiment: what it will cost, before it is asked for.

Fields and YAML say the same; whichever was edited last counts. Each change sends the form, and the page that comes back
shows what the change comes to; scripts do it by themselves and put the answer into the page, without them a button does
it.
"""

import copy
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from fastapi import Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, Response

from normcore.spec import TASKS, SpecError, parse
from normcore.spec.analyses import ANALYSES
from normcore.spec.files import dump_yaml, load_yaml
from normcore.spec.methods import METHODS
from normcore.spec.task import ProfileName
from service.catalogue import descriptions
from service.errors import Conflict, Invalid
from service.experiments import api, queries
from service.experiments.schemas import PlanOut
from service.http.bodies import MAX_YAML_BYTES
from service.http.dependencies import Parts, PartsDep
from service.http.readers import in_reader
from service.http.routing import check_known
from service.pages.estimates import Estimate, estimate
from service.pages.forms import OwnSpecFields
from service.pages.paths import NOTHING, at, put
from service.pages.rendering import page
from service.pages.routing import PageRouter
from service.pages.spec_fields import FIRST, Filled, Pairs, filled, reduced, written_spec
from service.pages.spec_form import CELL, METHOD, PROFILE, TASK, Form, form_of
from service.workload.backlog import backlogs

router = PageRouter()

PARTS = ("task", "norm", "model", "training")  # in this order
NOT_ASKED = ("spec_version", "kind")  # of a resolved spec: what follows from the rest
MOST_SEEDS = 100  # that a link asks for
SENT_BEFORE = "this form was sent before, with another spec; send it again to submit this one, too"


@router.get("/submit")
def get_submit(
    request: Request,
    parts: PartsDep,
    task: Annotated[str | None, Query()] = None,
    profile: Annotated[ProfileName | None, Query()] = None,
    method: Annotated[str | None, Query()] = None,
    cell: Annotated[str | None, Query()] = None,
    source: Annotated[str | None, Query(alias="from")] = None,
    seeds: Annotated[int | None, Query(ge=1, le=MOST_SEEDS)] = None,
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
        spec["seeds"] = _lacking(parts, spec, seeds) or spec.get("seeds", [0])
    return _page(request, parts, _checked(parts, Draft(spec)))


def _lacking(parts: Parts, spec: Mapping[str, Any], seeds: int) -> list[int]:
    """Seeds that are not measured yet."""
    every = list(range(seeds))
    try:
        measured = api.plan(parts, {**spec, "seeds": every}).measured_seeds
    except Invalid:
        return every
    return [seed for seed in every if seed not in measured]


@router.post("/submit")
async def submit(request: Request, parts: PartsDep, fields: OwnSpecFields) -> Response:
    """Submit the experiment, or show what a change comes to."""
    draft = await in_reader(_draft, fields)  # reading YAML takes its time
    if draft.wants_submission and not draft.errors:
        try:
            experiment, _ = await api.submit(parts, draft.spec, draft.key)
            return RedirectResponse(f"/experiments/{experiment.id}", status_code=303)
        except Invalid:
            draft.status = 422
        except Conflict:
            draft.status, draft.key, draft.errors = 409, _new_key(), [SpecError((), SENT_BEFORE, "conflict")]
    elif draft.wants_submission:
        draft.status = 422
    checked = await run_in_threadpool(_checked, parts, draft)
    return await run_in_threadpool(_page, request, parts, checked)


def _new_key() -> str:
    return f"page-{secrets.token_urlsafe(16)}"


@dataclass
class Draft:
    """A spec that is being written.

    Attributes:
        yaml: as it was typed; None where it follows the fields.
        key: for which the form submits one experiment, however often it is sent.
        wants_submission: whether it is to be submitted, rather than to be looked at.
        errors: what is wrong with it.
        plan, estimate: what it comes to; None if something is wrong.
    """

    spec: dict[str, Any]
    yaml: str | None = None
    key: str = field(default_factory=_new_key)
    wants_submission: bool = False
    status: int = 200
    errors: list[SpecError] = field(default_factory=list)
    plan: PlanOut | None = None
    estimate: Estimate | None = None


def _draft(fields: Pairs) -> Draft:
    """Draft that a form has sent."""
    given = {name: text.replace("\r\n", "\n") for name, text in fields}
    draft = Draft({}, key=given.get("idempotency_key") or _new_key(), wants_submission=given.get("action") == "submit")
    if _yaml_counts(given):
        draft.yaml = given["yaml"]
        spec = _read(draft.yaml)
        if isinstance(spec, dict):
            draft.spec = spec
            return draft
        draft.errors = [SpecError(("yaml",), spec, "yaml")]
    draft.spec = _with_first_choices(written_spec(fields))
    return draft


def _yaml_counts(given: Mapping[str, str]) -> bool:
    """Tell if the YAML was edited after the fields. A script says so; without scripts, an edited YAML counts."""
    if "yaml" not in given or "reset" in given:
        return False
    if given.get("edited"):
        return given["edited"] == "yaml"
    return given["yaml"].strip() != given.get("yaml_shown", "").strip()


def _read(text: str) -> dict[str, Any] | str:
    """The spec that a text is, or what is wrong with it."""
    if len(text.encode()) > MAX_YAML_BYTES:
        return f"it is over {MAX_YAML_BYTES:,} bytes; no spec is"
    try:
        spec = load_yaml(text)
    except ValueError as error:
        return str(error)
    return spec if isinstance(spec, dict) else "expected names and values, as task: {name: permuted_digits}"


def _spec_of(parts: Parts, experiment_id: str) -> dict[str, Any]:
    """Spec of an earlier experiment, as it was posted."""
    with parts.db.snapshot() as session:
        stored = queries.experiment(session, experiment_id).spec
    return reduced(parse(stored).model_dump(mode="json"))


def _checked(parts: Parts, draft: Draft) -> Draft:
    """The draft with what it comes to, or what is wrong with it."""
    if draft.errors:
        return draft
    try:
        draft.plan = api.plan(parts, draft.spec)
    except Invalid as error:
        draft.errors = error.errors
        return draft
    with parts.db.snapshot() as session:
        found = backlogs(session, parts.settings.heartbeat_seconds)
    draft.estimate = estimate(draft.plan, next(one for one in found if one.device == draft.plan.spec["device"]))
    return draft


def _with_first_choices(spec: dict[str, Any]) -> dict[str, Any]:
    """The spec with task, profile and method, where it does not name them."""
    skeleton, found = form_of(spec).skeleton, copy.deepcopy(spec)
    for path in FIRST:
        if at(spec, path) is NOTHING and at(skeleton, path) is not NOTHING:
            put(found, path, at(skeleton, path))
    return {part: found[part] for part in sorted(found, key=lambda part: [*PARTS, part].index(part))}


@dataclass(frozen=True)
class Told:
    """An error in the summary.

    Attributes:
        to: the id of the element that it is about; empty where there is none.
    """

    where: str
    message: str
    to: str = ""


def told(errors: Sequence[SpecError], form: Form, fields: Mapping[str, Filled]) -> list[Told]:
    """The errors, each of which is noted at its field, too, if there is one."""
    found = []
    groups = {group.name for group in form.all_groups}
    for error in errors:
        where, message = ".".join(map(str, error.loc)), f"{error.msg[:1].upper()}{error.msg[1:]}"
        above = [".".join(map(str, error.loc[:k])) for k in range(len(error.loc), 0, -1)]
        name = next((one for one in above if one in fields), None)
        if name is not None:
            fields[name].errors.append(message if name == where else f"{where.removeprefix(f'{name}.')}: {message}")
            found.append(Told(where, message, f"f-{name}"))
        elif where == "yaml":
            found.append(Told("YAML", message, "f-yaml"))
        else:
            found.append(Told(where, message, f"g-{where}" if where in groups else ""))
    return found


def _page(request: Request, parts: Parts, draft: Draft) -> Response:
    form = form_of(draft.spec)
    fields = filled(form, draft.spec)
    summary = told(draft.errors, form, fields)
    yaml = draft.yaml if draft.yaml is not None else dump_yaml(draft.spec)
    task = at(form.skeleton, TASK)
    return page(
        request,
        "submit/submit.html",
        status=draft.status,
        form=form,
        fields=fields,
        draft=draft,
        summary=summary,
        yaml=yaml,
        yaml_errors=[one.message for one in summary if one.to == "f-yaml"],
        task=descriptions.task(task),
        analyses=list(ANALYSES),
        resolved=dump_yaml({k: v for k, v in draft.plan.spec.items() if k not in NOT_ASKED}) if draft.plan else None,
        titles={name: TASKS[name].title for name in TASKS},
    )
