"""Collect a report card from finished analyses and from the leaderboards. Nothing is measured here."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from sqlalchemy import select
from sqlalchemy.orm import Session

from normcore.own_code import digests, present_code
from normcore.spec import InvalidSpec, digest, resolve
from normcore.spec.analyses import ANALYSES
from normcore.spec.cells import CELLS
from normcore.spec.methods import METHODS
from normcore.spec.task import ProfileName
from service.db import no_index
from service.experiments import codes
from service.experiments.lifecycle import WAITING
from service.experiments.tables import HAS_SUCCEEDED, Experiment, Run
from service.http.answer_cache import AnswerCache
from service.leaderboards import queries as leaderboards
from service.leaderboards.queries import BoardRequest
from service.leaderboards.schemas import Entry, Leaderboard
from service.leaderboards.standing import standing_of
from service.report_cards.schemas import CellOut, MeasuredOut, ReportCard, StandingOut

IN_EACH_CELL = ("gradient_flow", "step_cost", "smallest_batch")


class PlaceOnBoard(NamedTuple):
    """A board, and the entry of a method on it."""

    board: Leaderboard
    entry: Entry


def report_card(session: Session, name: str, places: Sequence[PlaceOnBoard] | None = None) -> ReportCard:
    """Report card of a known method: for each analysis in its default form, the newest run that succeeded.

    Args:
        places: the method's entries on the boards, if they were read before.
    """
    method, search = METHODS[name], _Search(session)
    placed = find_places(session, name) if places is None else places
    norm = {"method": name}
    return ReportCard(
        method=name,
        title=method.title,
        citation=method.citation,
        invariances=search.find_newest({"task": {"name": "invariances"}, "norm": norm}),
        cells={
            cell: CellOut(
                **{
                    task: search.find_newest({"task": {"name": task}, "model": {"cell": cell}, "norm": norm})
                    for task in IN_EACH_CELL
                }
            )
            for cell in CELLS
            if method.fits(CELLS[cell])
        },
        standings=[_describe_standing(*place) for place in placed],
        not_applicable=search.not_applicable,
        missing=search.missing,
        pending=search.pending,
    )


def cached_report_card(
    session: Session, answer_cache: AnswerCache, name: str, places: Sequence[PlaceOnBoard] | None = None
) -> ReportCard:
    """Report card of a known method. It is cached until its version changes: a page and its files share one card.

    Args:
        answer_cache: cache of the card.
        places: as for ``report_card``.
    """
    content = answer_cache.get(
        key_of_card(name),
        version(session, name),
        lambda: report_card(session, name, places).model_dump_json().encode(),
    )
    return ReportCard.model_validate_json(content)


def key_of_card(name: str) -> Hashable:
    """Key of a method's card in the cache of answers."""
    return "report card", name


def version(session: Session, name: str) -> Hashable:
    """Version of a method's card. It changes with a result on a board, the state of an analysis, or the code."""
    boards = dict.fromkeys(
        (found.task, cast(ProfileName, found.profile)) for found in leaderboards.leaderboards(session)
    )
    analyses = (
        select(Run.id, Run.state)
        .join(Experiment)
        .where(Experiment.task.in_(ANALYSES), Experiment.method == name)
        .order_by(Run.id)
    )
    of_boards = tuple((*board, *leaderboards.version(session, *board)) for board in boards)
    return of_boards, digest(digests()), tuple(map(tuple, session.execute(analyses)))


@dataclass
class _Search:
    """Search for analyses of a method, which notes analyses that are missing, pending or not applicable."""

    session: Session
    not_applicable: dict[str, str] = field(default_factory=dict)
    missing: list[dict[str, Any]] = field(default_factory=list)
    pending: list[str] = field(default_factory=list)

    def find_newest(self, written: dict[str, Any]) -> MeasuredOut | None:
        """Find the newest succeeded run of a spec by the present code. Without such a run, note the analysis as
        pending, missing or not applicable. A run without recorded code counts until a newer run comes."""
        try:
            spec = resolve(written)
        except InvalidSpec as error:
            self.not_applicable[written["task"]["name"]] = error.errors[0].msg
            return None
        of_spec = Experiment.fingerprint == spec.fingerprint()
        runs = select(Run).join(Experiment).where(of_spec).order_by(Run.id.desc())
        succeeded = self.session.scalars(runs.where(HAS_SUCCEEDED)).all()
        for run in codes.choose_reusable_runs(present_code(spec), succeeded):
            return _describe_run(run)
        waiting = self.session.scalars(runs.where(no_index(Run.state).in_(WAITING)).limit(1)).one_or_none()
        if waiting is None:
            self.missing.append(written)
        else:
            self.pending.append(waiting.experiment_id)
        return None


def _describe_run(run: Run) -> MeasuredOut:
    result = cast(Mapping[str, Any], run.result)
    return MeasuredOut(
        run_id=run.id,
        experiment_id=run.experiment_id,
        device=run.device,
        finished_at=run.finished_at,
        findings=result["findings"],
    )


def find_places(session: Session, method: str) -> list[PlaceOnBoard]:
    """Find a method's best entry on each board, chosen by validation. If all of the method's entries are over budget,
    the first of these entries counts.
    """
    places = []
    for found in leaderboards.leaderboards(session):
        asked = BoardRequest(found.task, cast(ProfileName, found.profile), found.problem.id)
        board = leaderboards.leaderboard(session, asked._replace(best=True))
        own = _find_entry(board, method) or _find_entry(leaderboards.leaderboard(session, asked), method)
        if own is not None:
            places.append(PlaceOnBoard(board, own))
    return places


def _find_entry(board: Leaderboard, method: str) -> Entry | None:
    return next((entry for entry in board.entries if entry.source == "measured" and entry.method == method), None)


def _describe_standing(board: Leaderboard, own: Entry) -> StandingOut:
    assert own.fingerprint is not None
    place = standing_of(board, own)
    return StandingOut(
        task=board.task,
        profile=board.profile,
        problem=board.problem,
        rank=place.rank,
        shared_rank=place.shared_rank,
        tied_with=place.tied_with,
        rank_ci=own.rank_ci,
        of=sum(entry.source == "measured" and not entry.over_budget for entry in board.entries),
        metric=board.metric,
        unit=board.unit,
        direction=board.direction,
        mean=own.value.mean if own.value else None,
        ci95=own.value.ci95 if own.value else None,
        n_seeds=own.n_seeds,
        n_diverged=own.n_diverged,
        too_few_seeds=own.too_few_seeds,
        fingerprint=own.fingerprint,
        name=own.name,
    )
