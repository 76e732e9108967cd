"""The answer of the first page: the methods that lead on most boards, and the fastest method."""

import json
import statistics
from collections.abc import Mapping, Sequence

from sqlalchemy.orm import Session

from normcore.spec.task import ProfileName
from service import wording
from service.http.answer_cache import AnswerCache
from service.leaderboards import overall
from service.leaderboards.ranking import TimeBy
from service.leaderboards.schemas import MethodProfile, Overall
from service.leaderboards.seeds import FEWEST, are_too_few
from service.leaderboards.verdicts import begin_sentence, list_entries
from service.pages.method_ranks import RankTable

BASELINE = "none"
TIMES: Sequence[TimeBy] = ("seconds_to_target", "steps_to_target")


def leaders(table: RankTable) -> str:
    """Sentence on the methods that lead on most boards; empty if no method has a rank."""
    ranked = [column for column in table.columns if any(one.rank for one in column.ranks.values())]
    first: dict[str, tuple[int, int]] = {}  # boards on which a method leads alone, and on which it is first
    for method in table.methods:
        wins = [one for column in ranked if (one := column.ranks.get(method)) and one.rank == 1]
        first[method] = sum(not one.tied_with for one in wins), len(wins)
    if not ranked:
        return ""
    best = max(first.values())
    names = [method for method in table.methods if first[method] == best]
    alone, n_first = best
    who, of = list_entries(names), f"of {wording.count(len(ranked), 'task')}"
    leads, ties = ("leads", "ties") if len(names) == 1 else ("lead", "tie")
    if not alone:
        return f"No method leads alone: {who} {ties} for first on {n_first} {of}"
    each = "" if len(names) == 1 else " each"
    besides = f" and {ties} for first on {n_first - alone}" if n_first > alone else ""
    return begin_sentence(f"{who} {leads} on {alone} {of}{each}{besides}")


def fastest(found: Overall, seeds: Mapping[str, int]) -> tuple[str, str]:
    """The fastest method to the tasks' targets in words, with its speed-up against ``none``, and what its time is.

    Both are empty if the fastest method is not known.

    Args:
        seeds: for each method, the fewest seeds behind one of its times.
    """
    enough = [one for one in found.methods if not are_too_few(seeds.get(one.method, FEWEST))]
    if not found.tasks or not enough:
        return "", ""
    names = [one.method for one in enough if one.area == enough[0].area]
    told = f"fastest: {list_entries(names)}"
    unit = "seconds" if found.rank_by == "seconds_to_target" else "steps"
    baseline = next((one for one in enough if one.method == BASELINE), None)
    ratio = _speed_up(enough[0], baseline) if baseline and len(names) == 1 else None
    if ratio is None:
        return told, f"fastest: {unit} to the target"
    return f"{told}, {wording.ratio(ratio)}", f"fastest: {unit} to the target, against {BASELINE}"


def _speed_up(method: MethodProfile, baseline: MethodProfile) -> float | None:
    """Geometric mean of the ratios of the baseline's times and the method's, over the tasks on which both are known."""
    if method.method == baseline.method:
        return None
    pairs = [(baseline.times[task], time) for task, time in method.times.items()]
    ratios = [theirs / own for theirs, own in pairs if theirs and own]
    return statistics.geometric_mean(ratios) if ratios else None


def read_fastest(session: Session, answer_cache: AnswerCache, profile: ProfileName) -> tuple[str, str]:
    """Read the fastest method of a profile, see ``fastest``: by seconds, or by steps if the seconds do not tell."""

    def make() -> bytes:
        told = (fastest(*overall.overall_and_seeds(session, profile, by)) for by in TIMES)
        return json.dumps(next(filter(any, told), ("", ""))).encode()

    sentence, what = json.loads(answer_cache.get(("fastest", profile), overall.version(session, profile), make))
    return sentence, what
