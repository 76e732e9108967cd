"""Verdict of a board in a sentence: the best method, and how sure that is."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from normcore.spec.tasks import BENCHMARKS
from service import wording
from service.leaderboards.entry import RunResult, converged_values, times_of
from service.leaderboards.schemas import Entry, Leaderboard, Overall, Verdict
from service.leaderboards.seeds import FEWEST, NEEDED, TESTED, are_too_few, describe_seed_count, that_count
from service.statistics.differences import pair
from service.statistics.times import TimeUnit, time_pair
from service.statistics.values import Limits

FEWEST_TASKS = 3  # tasks without which the verdict names no overall winner
MAX_NAMED = 3  # entries that a sentence names; the table below it has all
LONGEST = 60  # characters of these names: with longer names the verdict would not fit on a line of a page

METHOD = "the method "
NO_WINNER = "no winner:"

Seeds = Mapping[str, Sequence[RunResult]]  # the runs that count, by fingerprint


def verdict(board: Leaderboard, seeds: Seeds) -> Verdict | None:
    """Verdict on a board's measured entries; None if the board has no entry at all."""
    board = _without_shared_changes(board)
    measured = [entry for entry in board.entries if entry.source == "measured"]
    ranked = [entry for entry in measured if entry.tie_group is not None]
    if not measured:
        return _judge_unmeasured(board)
    if not ranked:
        return _without_rank(measured)
    few = [entry for entry in ranked if entry.too_few_seeds]
    enough = [entry for entry in ranked if entry not in few]
    if few and len(enough) < 2:
        return _too_few(board, ranked)
    found = _order(board, enough, sum(that_count(entry, board.rank_by) < TESTED for entry in few), seeds)
    found = _besides(board, found, few) if few else found
    return replace(found, claim=begin_sentence(found.claim))


def _without_shared_changes(board: Leaderboard) -> Leaderboard:
    """Leave out the changes that all measured entries of a board share: sentences name what differs between entries."""
    changes = [entry.changes for entry in board.entries if entry.source == "measured"]
    first, *others = changes or [{}]
    shared = {path for path in first if all(path in one and one[path] == first[path] for one in others)}
    if not others or not shared:
        return board
    entries = [
        replace(entry, name="", changes={path: told for path, told in entry.changes.items() if path not in shared})
        if entry.source == "measured"
        else entry
        for entry in board.entries
    ]
    return replace(board, entries=entries)


def in_sentence(name: str) -> str:
    """Name of an entry in a sentence. "none is first" reads as "no entry is first", so ``none`` is called a method."""
    return f"{METHOD}{name}" if name.partition(" ")[0] == "none" else name


def list_entries(names: Sequence[str]) -> str:
    """List the names of entries in a sentence. Among other names ``none`` is clear, and stays as it is."""
    return _list_texts(names if len(names) > 1 else list(map(in_sentence, names)))


def _list_texts(texts: Sequence[str]) -> str:
    """List entries in a sentence: a few by their texts, and the number of the others."""
    if len(texts) <= MAX_NAMED:
        return wording.listed(texts)
    return wording.listed([*texts[:MAX_NAMED], wording.count(len(texts) - MAX_NAMED, "other entry")])


def begin_sentence(sentence: str) -> str:
    """Begin a sentence with a capital letter if its first word is not the name of a method."""
    return f"{sentence[:1].upper()}{sentence[1:]}" if sentence.startswith((METHOD, NO_WINNER)) else sentence


def _order(board: Leaderboard, enough: Sequence[Entry], untested: int, seeds: Seeds) -> Verdict:
    """Verdict on the best of the entries that have enough seeds.

    Args:
        untested: number of other entries that have too few seeds for any test.
    """
    first, *others = enough
    if not others:
        return Verdict(
            f"{in_sentence(first.name)} is alone here:",
            f"{_worth(board, first)}; there is no other entry to compare it with.",
        )
    tied = [entry for entry in others if entry.tie_group == first.tie_group]
    if tied:
        return _ties(board, [first, *tied])
    beside = first.rank_ci[1] - 1 - untested if first.rank_ci else 0
    if beside > 0:
        return _may_lead(board, first, beside)
    return _leads(board, first, others[0], seeds)


def _too_few(board: Leaderboard, ranked: Sequence[Entry]) -> Verdict:
    told = [
        f"{in_sentence(entry.name)} has {_worth(board, entry)}"
        f" over {wording.count(that_count(entry, board.rank_by), 'seed')}"
        for entry in ranked[:2]
    ]
    return Verdict("Too few seeds to rank:", f"{wording.listed(told)}. {NEEDED}.")


def _besides(board: Leaderboard, found: Verdict, few: Sequence[Entry]) -> Verdict:
    """Verdict on the entries with enough seeds, followed by the names of the entries with too few seeds."""
    left_out = [f"{in_sentence(entry.name)} ({describe_seed_count(that_count(entry, board.rank_by))})" for entry in few]
    named = wording.listed(left_out) if len(few) <= MAX_NAMED else wording.count(len(few), "other entry")
    return Verdict(
        f"Of the entries with {FEWEST} seeds or more, {found.claim}",
        f"{found.detail} Too few seeds to rank: {named}.",
    )


def tied_for_first(board: Leaderboard) -> list[Entry]:
    """The entries that tie for first on a board; none if one entry leads alone."""
    ranked = [entry for entry in board.entries if entry.source == "measured" and entry.tie_group is not None]
    enough = [entry for entry in ranked if not entry.too_few_seeds]
    tied = [entry for entry in enough if entry.tie_group == enough[0].tie_group]
    return tied if len(tied) > 1 else []


def counted_for_first(board: Leaderboard) -> list[Entry]:
    """The entries that tie for first, if they are too many, or their names too long, for the verdict's sentence."""
    tied = tied_for_first(board)
    return tied if _are_counted(tied_for_first(_without_shared_changes(board))) else []


def _are_counted(tied: Sequence[Entry]) -> bool:
    return len(tied) > MAX_NAMED or len(wording.listed([entry.name for entry in tied])) > LONGEST


def ties(board: Leaderboard) -> list[str]:
    """Sentence for each tie group of several entries: no difference between them is shown."""
    groups: dict[int, list[Entry]] = {}
    for entry in _without_shared_changes(board).entries:
        if entry.tie_group is not None and not entry.too_few_seeds:
            groups.setdefault(entry.tie_group, []).append(entry)
    return [
        f"{_list_texts([entry.name for entry in group])}: no difference is shown"
        for group in groups.values()
        if len(group) > 1
    ]


def _judge_unmeasured(board: Leaderboard) -> Verdict | None:
    published = [entry for entry in board.entries if entry.source == "published" and entry.value is not None]
    if published:
        best = published[0]
        return Verdict(
            "Only published numbers:",
            f"papers have {wording.count(len(published), 'result')}, the best {_worth(board, best)}"
            f" ({best.model or best.method}, {best.citation}); nothing is measured here yet.",
        )
    if board.entries:
        return Verdict("Only claims:", "they were measured elsewhere; this service has no runs of them yet.")
    return None


def _without_rank(measured: Sequence[Entry]) -> Verdict:
    diverged = sum(entry.n_diverged for entry in measured)
    if all(entry.score is None for entry in measured):
        return Verdict("All entries diverged:", f"{wording.count(diverged, 'run')}, none with a finite result.")
    return Verdict("Nothing is ranked:", "every entry saw more than the board's budget, or ran on other hardware.")


def _ties(board: Leaderboard, tied: Sequence[Entry]) -> Verdict:
    """Verdict on the entries that tie for first: a few by their names, else their number."""
    measured = sum(entry.source == "measured" and not entry.over_budget for entry in board.entries)
    who = wording.listed([entry.name for entry in tied])
    if _are_counted(tied):
        who = f"{wording.steps(len(tied))} of {wording.count(measured, 'entry')}"
    remark = f"; {remark}" if (remark := _describe_ranking(board)) else ""
    best, last = (_worth(board, entry, with_interval=False) for entry in (tied[0], tied[-1]))
    last = last.removesuffix(f" test {board.metric.replace('_', ' ')}")
    return Verdict(f"{NO_WINNER} {who} tie for first", f"({best} best, {last} last of them{remark}).")


def _may_lead(board: Leaderboard, first: Entry, others: int) -> Verdict:
    be = "is" if others == 1 else "are"
    return Verdict(
        f"{in_sentence(first.name)} has the best {_name_ranking(board)}, and may not be first:",
        f"{_worth(board, first)}, but {wording.count(others, 'entry', 'entries')} {be} not shown to be worse.",
    )


def _leads(board: Leaderboard, first: Entry, second: Entry, seeds: Seeds) -> Verdict:
    claim = f"{in_sentence(first.name)} is first, and nothing ties with it:"
    if board.rank_by != "metric":
        return Verdict(claim, _sooner(board, first, second, seeds))
    own, other = (converged_values(seeds.get(entry.fingerprint or "", ())) for entry in (first, second))
    found = pair(own, other, Limits.of(BENCHMARKS[board.task].metric()))
    if found is None:
        return Verdict(claim, f"{_worth(board, first)}.")
    side = "above" if board.direction == "maximize" else "below"
    apart = wording.distance(found.mean, board.metric, board.unit)
    between = wording.distance_interval(found.ci95, board.metric)
    return Verdict(
        claim,
        f"{_worth(board, first)}, {apart} {side} the next, {in_sentence(second.name)} (95% interval {between},"
        f" {wording.p_value(found.p_value)}, {wording.count(found.seeds, 'shared seed')}).",
    )


def _sooner(board: Leaderboard, first: Entry, second: Entry, seeds: Seeds) -> str:
    """Times of the two best entries in words, each with its interval, and the p-value of their difference."""
    by: TimeUnit = "steps" if board.rank_by == "steps_to_target" else "seconds"
    own = [times_of(seeds.get(entry.fingerprint or "", ()), by) for entry in (first, second)]
    found = time_pair(*own)
    sure = f" ({wording.p_value(found.p_value)}, {wording.count(found.seeds, 'shared seed')})" if found else ""
    return f"{_worth(board, first)}; the next, {in_sentence(second.name)}: {_worth(board, second)}{sure}."


def _name_ranking(board: Leaderboard) -> str:
    if board.rank_by != "metric":
        return "time"
    remark = _describe_ranking(board)
    return f"mean ({remark})" if remark else "mean"


def _describe_ranking(board: Leaderboard) -> str:
    """Remark on how seeds without skill count in the means that rank a board; empty if there are no such seeds."""
    if board.rank_by != "metric":
        return ""
    ranked = [entry for entry in board.entries if entry.rank is not None]
    if any(entry.n_diverged for entry in ranked):
        return "a diverged seed counts as chance level"
    capped = any(entry.value is not None and entry.score != entry.value.mean for entry in ranked)
    return "no seed counts as worse than chance level" if capped else ""


def _worth(board: Leaderboard, entry: Entry, *, with_interval: bool = True) -> str:
    """Value that ranks an entry, in words. Times have an interval unless ``with_interval`` is false."""
    if board.rank_by == "metric":
        mean = entry.value.mean if entry.value else None
        return f"{wording.value(mean, board.metric)} test {board.metric.replace('_', ' ')}"
    by_steps = board.rank_by == "steps_to_target"
    times = entry.steps_to_target if by_steps else entry.seconds_to_target
    target = wording.level(board.target, board.metric)
    if times is None or times.median is None:
        return f"no {target} in half of its seeds"
    taken = f"{wording.steps(times.median)} steps" if by_steps else wording.seconds(times.median)
    between = wording.time_interval(times.ci95, "steps" if by_steps else "seconds")
    return f"{taken} to {target} ({between})" if with_interval else f"{taken} to {target}"


def nobody_wins(tasks: Sequence[str]) -> Verdict:
    """Verdict on tasks whose entries all diverged. What an entry reached before it diverged does not count."""
    return Verdict(
        f"All entries of {wording.listed(tasks)} diverged:", "no entry has a finite result, so no method wins overall."
    )


def overall_verdict(overall: Overall, seeds: Mapping[str, int]) -> Verdict | None:
    """Verdict on the overall board: the method that is nearly the fastest most often; None without entries.

    Args:
        seeds: for each method, the smallest number of seeds behind one of its times.
    """
    if not overall.methods or not overall.tasks:
        return None
    first, *others = overall.methods
    tasks = wording.count(len(overall.tasks), "task")
    worth = f"area {first.area:.3f} over {tasks}, the fastest of {first.fastest}"
    best = in_sentence(first.method)
    few = [one.method for one in overall.methods if are_too_few(seeds.get(one.method, FEWEST))]
    if few:
        told = wording.listed([f"{in_sentence(method)} ({describe_seed_count(seeds[method])})" for method in few])
        return Verdict(
            "Too few seeds to say who wins overall:", f"{told}. With these seeds, {best} has {worth}; {NEEDED}."
        )
    equal = [one.method for one in others if one.area == first.area]
    if equal:
        return Verdict(f"{wording.listed([first.method, *equal])} have the same area:", f"{worth}.")
    runner_up = f"; {in_sentence(others[0].method)} has {others[0].area:.3f}" if others else ""
    claim = f"{begin_sentence(best)} is nearly the fastest most often:"
    if len(overall.tasks) < FEWEST_TASKS:
        claim = f"Too few tasks to say who wins overall; {best} has the largest area:"
    return Verdict(claim, f"{worth}{runner_up}.")
