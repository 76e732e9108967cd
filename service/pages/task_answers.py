"""Answers of a task's page, from its boards: which method is best and how sure, and which learning rate to take."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from sqlalchemy.orm import Session

from normcore.spec.task import ProfileName
from normcore.spec.tasks import BENCHMARKS
from service import wording
from service.catalogue import descriptions
from service.leaderboards import queries as leaderboards
from service.leaderboards.queries import BoardRequest
from service.leaderboards.schemas import Entry, Leaderboard, LeaderboardSummary, Verdict
from service.pages.rendering import address
from service.statistics.order import RankEstimate
from service.sweeps import findings

RATE = "training.optimizer.lr"
OPTIMIZER = "training.optimizer.name"
MOST_TIES = 3  # rates that a sentence names
OWN = "the profile's own"  # title of the problem of a profile

Compare = Callable[[Sequence[str]], Mapping[str, RankEstimate]]
"""Function that ranks entries among themselves: from fingerprints to places by fingerprint."""


@dataclass(frozen=True, slots=True)
class RateChoice:
    """Learning rate of a method that was best by validation.

    Attributes:
        tried: all rates that were tried, in order.
        ties: other rates whose best entries tie with the best one, if only these entries are compared.
        value: test value of the best entry, with its interval.
        advice: what to do if the best rate is the smallest or largest that was tried, or the only one; else empty.
    """

    method: str
    rate: float
    tried: Sequence[float]
    ties: Sequence[float]
    value: str
    advice: str

    @property
    def sentence(self) -> str:
        """Sentence on the rate for the first card."""
        if len(self.tried) == 1:
            return f"Only the learning rate {self.rate:g} was tried with {self.method}; sweep {RATE} to compare others."
        told = f"Learning rate for {self.method}: {self.rate:g}, the best of {len(self.tried)} by validation"
        return f"{told}{_list_ties(self.ties)}.{f' {self.advice}' if self.advice else ''}"


@dataclass(frozen=True, slots=True)
class BoardAnswer:
    """Answers of the board of a profile.

    Attributes:
        usual: learning rate of the profile; None if the profile has no training.
        example: experiment of the best entry, whose runs show what a model does.
    """

    profile: str
    board: str
    verdict: Verdict
    leader: str
    usual: float | None
    rates: Sequence[RateChoice]
    example: str | None

    @property
    def has_compared(self) -> bool:
        """Tell if any method was tried with several rates."""
        return any(len(choice.tried) > 1 for choice in self.rates)

    @property
    def rate_of_leader(self) -> RateChoice | None:
        return next((choice for choice in self.rates if choice.method == self.leader), None)


def board_answers(session: Session, task: str, boards: Sequence[LeaderboardSummary]) -> list[BoardAnswer]:
    """Answers of the boards of a task's own problems, the board with most runs first."""
    own = [board for board in boards if board.problem.title == OWN and board.n_entries]
    answers = [_answer(session, task, board) for board in sorted(own, key=lambda board: -board.n_runs)]
    return [answer for answer in answers if answer is not None]


def _answer(session: Session, task: str, summary: LeaderboardSummary) -> BoardAnswer | None:
    asked = BoardRequest(task, cast(ProfileName, summary.profile), summary.problem.id)
    best = leaderboards.leaderboard(session, asked._replace(best=True))
    measured = [entry for entry in best.entries if entry.source == "measured"]
    if best.verdict is None or not measured:
        return None
    usual = _usual_rate(task, summary.profile)
    every = leaderboards.leaderboard(session, asked)

    def compare(fingerprints: Sequence[str]) -> Mapping[str, RankEstimate]:
        rows = leaderboards.rows_of(session, fingerprints)
        return findings.standings([*rows.values()], BENCHMARKS[task].metric())

    return BoardAnswer(
        profile=summary.profile,
        board=address(f"/boards/{task}", profile=summary.profile),
        verdict=best.verdict,
        leader=measured[0].method or "",
        usual=usual,
        rates=[] if usual is None else choose_rates(every, usual, compare),
        example=measured[0].experiments[0] if measured[0].experiments else None,
    )


def _usual_rate(task: str, profile: str) -> float | None:
    spec: dict[str, Any] = descriptions.task(task).profiles[profile].spec or {}
    rate = (spec.get("training") or {}).get("optimizer", {}).get("lr")
    return rate if isinstance(rate, float) else None


def choose_rates(board: Leaderboard, usual: float, compare: Compare) -> list[RateChoice]:
    """Best learning rate of each method on a board with all entries, the best method first.

    Args:
        usual: learning rate of the profile, which an entry has that does not change it.
    """
    entries = [entry for entry in board.entries if _counts(entry)]
    methods = dict.fromkeys(entry.method for entry in entries)
    of_methods = ([entry for entry in entries if entry.method == method] for method in methods)
    return [_choose(board, of_method, usual, compare) for of_method in of_methods]


def _counts(entry: Entry) -> bool:
    is_ranked = entry.source == "measured" and not entry.over_budget and not entry.of_older_code
    return is_ranked and entry.valid_value is not None and OPTIMIZER not in entry.changes


def _choose(board: Leaderboard, entries: Sequence[Entry], usual: float, compare: Compare) -> RateChoice:
    tried = sorted({_rate(entry, usual) for entry in entries})
    best = _best_of_rates(board, [entry for entry in entries if not entry.too_few_seeds] or entries, usual)
    rate, entry = next(iter(best.items()))
    ties = _find_ties(rate, best, compare) if len(best) > 1 else []
    value = entry.value
    shown = "" if value is None else wording.value(value.mean, board.metric)
    sure = f" ({wording.interval(value.ci95, board.metric)})" if value and value.ci95 else ""
    return RateChoice(entry.method or "", rate, tried, ties, f"{shown}{sure}", _advise(rate, tried))


def _rate(entry: Entry, usual: float) -> float:
    return float(entry.changes.get(RATE, usual))


def _best_of_rates(board: Leaderboard, entries: Sequence[Entry], usual: float) -> dict[float, Entry]:
    """Best entry of each rate by validation, the best of all rates first."""
    sign = -1 if board.direction == "maximize" else 1
    found: dict[float, Entry] = {}
    for entry in sorted(entries, key=lambda entry: sign * (entry.valid_value or 0.0)):
        found.setdefault(_rate(entry, usual), entry)
    return found


def _find_ties(rate: float, best: Mapping[float, Entry], compare: Compare) -> list[float]:
    """Find the other rates that tie with a rate. Their best entries are compared with each other, and with no entry
    else: a difference is shown sooner than on the whole board."""
    places = compare([entry.fingerprint for entry in best.values() if entry.fingerprint])
    groups = {
        one: places[entry.fingerprint or ""].tie_group for one, entry in best.items() if entry.fingerprint in places
    }
    return sorted(one for one, group in groups.items() if one != rate and group == groups.get(rate))


def _advise(rate: float, tried: Sequence[float]) -> str:
    if len(tried) == 1:
        return "Try others."
    if rate == tried[-1]:
        return "It is the largest that was tried; try a larger one, too."
    return "It is the smallest that was tried; try a smaller one, too." if rate == tried[0] else ""


def _list_ties(rates: Sequence[float]) -> str:
    if len(rates) > MOST_TIES:
        return f" ({len(rates)} others are not shown to be worse)"
    names = wording.listed([f"{rate:g}" for rate in rates])
    return f" ({names} {'is' if len(rates) == 1 else 'are'} not shown to be worse)" if rates else ""
