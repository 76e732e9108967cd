"""The pages of tasks: all tasks, and the rules of one task."""

from collections.abc import Sequence
from typing import Annotated, Any, cast

from fastapi import Path, Request
from starlette.responses import Response

from normcore.data import registry
from normcore.data.registry import by_hand
from normcore.spec import TASKS
from normcore.spec.files import dump_yaml
from normcore.spec.task import Need, ProfileName
from normcore.spec.tasks import BENCHMARKS
from service import wording
from service.catalogue import descriptions
from service.catalogue.equations import equation_of
from service.catalogue.schemas import DatasetOut, ProfileOut
from service.http.dependencies import AppParts, AppPartsDep
from service.http.routing import check_found
from service.leaderboards import queries as leaderboards
from service.leaderboards.schemas import LeaderboardSummary
from service.pages.options import options_of
from service.pages.rendering import answer_from_cache, html, page
from service.pages.routing import PageRouter
from service.pages.task_answers import BoardAnswer, board_answers

router = PageRouter()

FLOP = ((1e18, "EFLOP"), (1e15, "PFLOP"), (1e12, "TFLOP"), (1e9, "GFLOP"), (1e6, "MFLOP"))


@router.get("/tasks")
def get_tasks(request: Request, parts: AppPartsDep) -> Response:
    """Page of all tasks."""
    with parts.db.snapshot() as session:
        boards = leaderboards.leaderboards(session)
    return page(
        request,
        "tasks/tasks.html",
        tasks=[descriptions.task(name) for name in TASKS],
        entries={name: _entries([one for one in boards if one.task == name]) for name in TASKS},
    )


def _entries(boards: Sequence[LeaderboardSummary]) -> str:
    """Count of the entries on a task's boards; empty if there are none."""
    return wording.entries(sum(one.n_entries for one in boards), sum(one.n_claims for one in boards)) if boards else ""


@router.get("/tasks/{name}")
def get_task(request: Request, name: Annotated[str, Path()], parts: AppPartsDep) -> Response:
    """Page of a task: its data, metric and profiles."""
    check_found("task", name, TASKS)
    with parts.db.snapshot() as session:
        boards = [one for one in leaderboards.leaderboards(session) if one.task == name]
        profiles = dict.fromkeys(cast(ProfileName, board.profile) for board in boards)
        data = [_data(parts, need) for need in _needs(name)]
        version = [leaderboards.version(session, name, profile) for profile in profiles], data
        return answer_from_cache(
            request,
            parts,
            repr(version),
            lambda: _page(request, name, boards, data, board_answers(session, name, boards)),
        )


def _page(
    request: Request,
    name: str,
    boards: Sequence[LeaderboardSummary],
    data: Sequence[tuple[DatasetOut, str]],
    answers: Sequence[BoardAnswer],
) -> str:
    task, known = descriptions.task(name), TASKS[name]
    return html(
        request,
        "tasks/task.html",
        task=task,
        boards=boards,
        answers=answers,
        equation=equation_of(known),
        answer=answer(name),
        profiles={profile: _describe_profile(found) for profile, found in task.profiles.items()},
        data=data,
        options=options_of(known.model_json_schema(), without=("name", "profile")),
        validates_with=BENCHMARKS[name].validates_with if name in BENCHMARKS else None,
    )


def answer(name: str) -> str:
    """Sentence on who wins on a task: the metric that counts, and how the model is selected."""
    task = descriptions.task(name)
    if task.metric is None:
        return "An analysis: it gives findings, not ranks."
    way = "highest" if task.metric.direction == "maximize" else "lowest"
    metric = task.metric.name.replace("_", " ")
    return f"The method with the {way} {metric} on test data wins{_selection(name)}."


def _selection(name: str) -> str:
    chosen = BENCHMARKS[name].selection
    metric = getattr(chosen, "metric", None)
    if metric is not None:
        return f", with the model that has the best validation {metric.name.replace('_', ' ')}"
    last = getattr(chosen, "evaluations", 1)
    return ", by the last evaluation" if last == 1 else f", by the mean of the last {last} evaluations"


def _needs(name: str) -> list[Need]:
    """Data sets that the profiles of a task read, each once."""
    found: dict[str, Need] = {}
    for profile in descriptions.task(name).profiles.values():
        if profile.spec is not None:
            for need in TASKS[name].model_validate(profile.spec["task"]).needs():
                found.setdefault(need.dataset, need)
    return list(found.values())


def _data(parts: AppParts, need: Need) -> tuple[DatasetOut, str]:
    """A data set, and a text on how to add it by hand; the text is empty for a data set without files."""
    folder = parts.settings.datasets_dir
    known = registry.DATASETS[need.dataset]
    return descriptions.dataset(need.dataset, folder), by_hand(known, folder) if known.files else ""


def _describe_profile(profile: ProfileOut) -> dict[str, Any]:
    """Values of a profile: a line, some numbers, and the whole spec."""
    spec = profile.spec
    if spec is None:
        return {"description": profile.description, "facts": [], "yaml": None}
    facts = [f"{wording.steps(profile.cost.parameters)} parameters"] if profile.cost else []
    training = spec.get("training")
    if training:
        facts += [
            f"{wording.steps(training['max_steps'])} updates of {wording.count(training['batch_size'], 'example')}",
            f"{training['optimizer']['name']}, learning rate {wording.option(training['optimizer']['lr'])}",
        ]
        if training["target"] is not None:
            facts.append(f"target {wording.option(training['target'])}")
    if profile.cost:
        facts.append(f"{_flop(profile.cost.flop_per_update * profile.cost.updates)} in all")
    parts = {part: spec[part] for part in ("task", "model", "norm", "training") if spec.get(part)}
    return {"description": profile.description, "facts": facts, "yaml": dump_yaml(parts)}


def _flop(number: int) -> str:
    """Write a number of operations, as ``1.9 PFLOP``."""
    size, unit = next(((size, unit) for size, unit in FLOP if number >= size), (1.0, "FLOP"))
    return f"{number / size:.3g} {unit}"
