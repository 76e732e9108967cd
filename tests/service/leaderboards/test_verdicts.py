"""Verdict of a board, from values."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from service.leaderboards.entry import Estimate, RunResult
from service.leaderboards.schemas import (
    Entry,
    Leaderboard,
    MethodProfile,
    Overall,
    Problem,
    RankedTask,
    TimeToTarget,
    Verdict,
)
from service.leaderboards.seeds import are_too_few, that_count
from service.leaderboards.verdicts import counted_for_first, overall_verdict, tied_for_first, ties, verdict


def entry(method: str, mean: float | None, group: int | None = None, **parts: Any) -> Entry:
    value = None if mean is None else Estimate(mean, n=5)
    usual: dict[str, Any] = {"source": "measured", "fingerprint": method, "n_seeds": 5, "n_runs": 5}
    return Entry(method=method, score=mean, value=value, tie_group=group, **{**usual, **parts})


def board(*entries: Entry, **parts: Any) -> Leaderboard:
    usual: dict[str, Any] = {
        "task": "char_lm",
        "profile": "small",
        "problem": Problem("0", "the profile's own", {}, None),
        "problems": [],
        "metric": "bits_per_char",
        "unit": "bits",
        "direction": "minimize",
        "target": 2.5,
        "budget": 100,
        "hardware": None,
        "rank_by": "metric",
        "baseline": "none",
        "as_of": None,
    }
    found = Leaderboard(**{**usual, "entries": list(entries), **parts})
    for one in entries:
        one.too_few_seeds = one.tie_group is not None and are_too_few(that_count(one, found.rank_by))
    return found


NONE = entry("none", 1.1, 1)
PUBLISHED = entry("none", 1.0, source="published", model="LSTM", citation="RBN, Table 2")


def seeds(values: Sequence[float]) -> list[RunResult]:
    return [
        RunResult(f"run_{seed}", seed, False, value, {}, value, 0.1, None, 0.0, 0.0, 10, "m", "h", None, False)
        for seed, value in enumerate(values)
    ]


def said(shown: Verdict | None) -> str:
    assert shown is not None
    return f"{shown.claim} {shown.detail}"


def test_the_verdict_says_that_diverged_seeds_count_in_the_mean() -> None:
    first, second = entry("none", 1.1, 1, rank=1), entry("layer_norm", 1.5, 1, rank=2, n_diverged=3)
    told = said(verdict(board(first, second), {}))
    assert told == (
        "No winner: none and layer_norm tie for first (1.1000 test bits per char best, 1.5000 last of them; a diverged"
        " seed counts as chance level)."
    )


def test_the_verdict_says_how_a_seed_worse_than_no_skill_counts() -> None:
    first, second = entry("none", 1.1, 1, rank=1), replace(entry("layer_norm", 8.8e18, 1, rank=2), score=4.0)
    told = said(verdict(board(first, second), {}))
    assert told.endswith(" last of them; no seed counts as worse than chance level).")


def test_the_verdict_gives_a_sure_difference_with_its_interval() -> None:
    found = {"layer_norm": seeds([1.0, 1.1, 1.2, 1.1, 1.0]), "none": seeds([1.5, 1.62, 1.7, 1.61, 1.5])}
    first, second = entry("layer_norm", 1.08, 1), entry("none", 1.586, 2)
    assert said(verdict(board(first, second), found)) == (
        "layer_norm is first, and nothing ties with it: 1.0800 test bits per char, 0.5060 bits below the next, the"
        " method none (95% interval 0.4949 – 0.5171, p\u00a0<\u00a00.001, 5 shared seeds)."
    )


@pytest.mark.parametrize(
    ("entries", "begins"),
    [
        (
            [entry("layer_norm", 1.0, 1), entry("none", 1.1, 1)],
            "No winner: layer_norm and none tie for first (1.0000 test bits per char best, 1.1000 last of them).",
        ),
        (
            [entry("layer_norm", 1.0, 1), entry("rms_norm", 1.1, 1), entry("none", 1.1, 1)],
            "No winner: layer_norm, rms_norm and none tie for first (1.0000",
        ),
        (
            [entry("layer_norm", 1.0, 1, n_seeds=2), entry("none", 2.0, 2)],
            "Too few seeds to rank: layer_norm has 1",
        ),
        ([entry("layer_norm", 1.0, 1)], "layer_norm is alone here:"),
        ([entry("none", 1.0, 1)], "The method none is alone here:"),
        ([entry("none", 1.0, 1), entry("layer_norm", 2.0, 2)], "The method none is first, and nothing ties with it:"),
        (
            [entry("none", 1.0, 1, rank_ci=(1, 2)), entry("layer_norm", 2.0, 2)],
            "The method none has the best mean, and may not be first:",
        ),
        (
            [entry("none", 1.0, 1), entry("layer_norm", 2.0, 2), entry("rms_norm", 3.0, 3, n_seeds=2)],
            "Of the entries with 3 seeds or more, the method none is first, and nothing ties with it:",
        ),
        (
            [entry("none", None, n_diverged=5), entry("rms_norm", None, n_diverged=1)],
            "All entries diverged: 6 runs",
        ),
        ([entry("none", 1.0, over_budget=True)], "Nothing is ranked:"),
        (
            [entry("none", 1.0, source="published", model="LSTM", citation="RBN, Table 2")],
            "Only published numbers:",
        ),
        ([entry("none", 1.0, source="submitted")], "Only claims:"),
        (
            [entry("layer_norm", 1.0, 1, changes={"norm.eps": 0.1}), entry("layer_norm", 1.1, 1)],
            "No winner: layer_norm (norm.eps 0.1) and layer_norm tie for first (",
        ),
    ],
)
def test_every_state_of_a_board_has_its_sentence(entries: list[Entry], begins: str) -> None:
    assert said(verdict(board(*entries), {})).startswith(begins)


def test_a_change_that_all_entries_share_is_not_repeated_in_a_sentence() -> None:
    wide = {"model.hidden_size": 200}
    tied = [entry("layer_norm", 1.0, 1, changes=wide), entry("rms_norm", 1.1, 1, changes={**wide, "norm.eps": 0.1})]
    published = entry("none", 2.0, source="published", model="LSTM", changes={})
    found = board(*tied, published)
    assert said(verdict(found, {})).startswith("No winner: layer_norm and rms_norm (norm.eps 0.1) tie for first (")
    assert ties(found) == ["layer_norm and rms_norm (norm.eps 0.1): no difference is shown"]
    apart = board(entry("layer_norm", 1.0, 1, changes=wide), entry("none", 1.2, 2, changes={}))
    assert "layer_norm (hidden_size 200) is first" in said(verdict(apart, {})), "the other entry has another size"


def test_names_that_are_too_long_for_a_line_are_counted_and_folded() -> None:
    tied = [
        entry("layer_norm", 1.0, 1, changes={"training.optimizer.lr": k / 1e5, "norm.eps": k / 1e7}) for k in (1, 2)
    ]
    assert said(verdict(board(*tied), {})).startswith("No winner: 2 of 2 entries tie for first (")
    assert counted_for_first(board(*tied)) == tied
    assert counted_for_first(board(entry("layer_norm", 1.0, 1), entry("none", 1.0, 1))) == []


def test_an_entry_that_is_not_shown_to_be_first_is_not_called_first() -> None:
    first, second = entry("layer_norm", 1.0, 1, rank_ci=(1, 3)), entry("none", 1.1, 2, rank_ci=(2, 5))
    assert said(verdict(board(first, second), {})) == (
        "layer_norm has the best mean, and may not be first: 1.0000 test bits per char, but 2 entries are not shown to"
        " be worse."
    )
    alone, next_one = entry("layer_norm", 1.0, 1, rank_ci=(1, 1)), entry("none", 1.1, 2, rank_ci=(2, 5))
    assert said(verdict(board(alone, next_one), {})).startswith("layer_norm is first, and nothing ties with it:")


def test_the_verdict_by_seconds_counts_only_seeds_that_ran_alone() -> None:
    first, second = entry("layer_norm", 1.0, 1, contended=3), entry("none", 1.1, 2)
    shown = said(verdict(board(first, second, rank_by="seconds_to_target"), {}))
    assert shown.startswith("Too few seeds to rank: layer_norm has no 2.5 in half of its seeds over 2 seeds and the")
    assert said(verdict(board(first, second, rank_by="steps_to_target"), {})).startswith("layer_norm is first")


def test_an_empty_board_says_nothing() -> None:
    assert verdict(board(), {}) is None


def test_the_verdict_by_time_gives_medians() -> None:
    first = entry("layer_norm", 1.0, 1, steps_to_target=TimeToTarget(11_000.0, 5, (9_500.0, None), None, None))
    second = entry("none", 1.1, 2, steps_to_target=TimeToTarget(None, 1, None, None, None))
    assert said(verdict(board(first, second, rank_by="steps_to_target"), {})) == (
        "layer_norm is first, and nothing ties with it: 11\u202f000 steps to 2.5 (95% interval 9\u202f500 – unknown);"
        " the next, the method none: no 2.5 in half of its seeds."
    )


def test_the_verdict_by_seconds_gives_both_intervals_and_p() -> None:
    def timed(method: str, times: Sequence[float]) -> list[RunResult]:
        return [
            replace(run, reached=True, seconds=time) for run, time in zip(seeds([0.9] * len(times)), times, strict=True)
        ]

    found = {"layer_norm": timed("layer_norm", [60, 62, 61, 60, 63]), "none": timed("none", [120, 123, 121, 124, 120])}
    first = entry("layer_norm", 1.0, 1, seconds_to_target=TimeToTarget(61.0, 5, (60.0, 63.0), None, None))
    second = entry("none", 1.1, 2, seconds_to_target=TimeToTarget(121.0, 5, (120.0, 124.0), None, None))
    assert said(verdict(board(first, second, rank_by="seconds_to_target"), found)) == (
        "layer_norm is first, and nothing ties with it: 1 min 1 s to 2.5 (95% interval 1 min – 1 min 3 s);"
        " the next, the method none: 2 min 1 s to 2.5 (95% interval 2 min – 2 min 4 s)"
        " (p\u00a0<\u00a00.001, 5 shared seeds)."
    )


def test_an_entry_of_one_seed_is_named_after_the_verdict_on_the_others() -> None:
    lone = entry("rms_norm", 0.9, 1, n_seeds=1)
    first, second = entry("layer_norm", 1.0, 1, rank_ci=(1, 2)), entry("none", 1.1, 2)
    assert said(verdict(board(lone, first, second), {})) == (
        "Of the entries with 3 seeds or more, layer_norm is first, and nothing ties with it: 1.0000 test bits per char."
        " Too few seeds to rank: rms_norm (1 of 3 seeds)."
    )
    assert said(verdict(board(entry("rms_norm", 0.9, 1), first, second), {})).startswith("No winner: rms_norm")


def test_an_entry_of_one_seed_alone_is_not_ranked() -> None:
    assert said(verdict(board(entry("layer_norm", 1.0, 1, n_seeds=1)), {})) == (
        "Too few seeds to rank: layer_norm has 1.0000 test bits per char over 1 seed. 3 seeds each are the least that"
        " tells anything, 5 are better."
    )


def test_a_sentence_names_a_few_of_many_entries() -> None:
    first, second = entry("layer_norm", 1.0, 1, rank_ci=(1, 1)), entry("none", 1.1, 2)
    lone = [entry("rms_norm", 1.2, 3, n_seeds=1, name=f"rms_norm (lr 0.{k})") for k in range(8)]
    told = said(verdict(board(first, second, *lone[:3]), {}))
    assert told.endswith("rms_norm (lr 0.1) (1 of 3 seeds) and rms_norm (lr 0.2) (1 of 3 seeds).")
    told = said(verdict(board(first, second, *lone), {}))
    assert told.endswith("Too few seeds to rank: 8 other entries.")
    tied = [entry("none", 1.0, 1, name=f"none (lr 0.{k})") for k in range(9)]
    assert ties(board(*tied)) == [
        "none (lr 0.0), none (lr 0.1), none (lr 0.2) and 6 other entries: no difference is shown"
    ]
    assert ties(board(*tied[:4]))[0].startswith("none (lr 0.0), none (lr 0.1), none (lr 0.2) and 1 other entry:")


def test_many_entries_that_tie_for_first_are_counted_in_one_line() -> None:
    tied = [entry("layer_norm", 1.0 + 0.1 * k, 1, name=f"layer_norm (lr 0.{k})") for k in range(4)]
    behind = [entry("none", 2.0, 2), entry("weight_norm", None, n_diverged=5)]
    shown = board(*tied, *behind, entry("rms_norm", 0.5, over_budget=True))
    assert said(verdict(shown, {})) == (
        "No winner: 4 of 6 entries tie for first (1.0000 test bits per char best, 1.3000 last of them)."
    )
    assert tied_for_first(shown) == tied
    assert tied_for_first(board(entry("none", 1.0, 1), entry("rms_norm", 1.1, 2))) == []
    few = said(verdict(board(*tied, entry("none", 0.9, 1, n_seeds=1)), {}))
    assert few.startswith("Of the entries with 3 seeds or more, no winner: 4 of 5 entries tie for first (1.0000")


def test_ties_by_time_give_the_first_and_the_last_time() -> None:
    tied = [entry(f"m{k}", 1.0, 1, steps_to_target=TimeToTarget(20.0 + k, 5, None, None, None)) for k in range(4)]
    assert said(verdict(board(*tied, rank_by="steps_to_target"), {})) == (
        "No winner: 4 of 4 entries tie for first (20 steps to 2.5 best, 23 steps to 2.5 last of them)."
    )


def test_entries_count_as_possibly_better_from_two_seeds_on() -> None:
    first, second = entry("layer_norm", 1.0, 1, rank_ci=(1, 3)), entry("none", 1.1, 2)
    pair_of_seeds = entry("rms_norm", 1.2, 2, n_seeds=2)
    lone = entry("weight_norm", 1.2, 2, n_seeds=1)
    assert "2 entries are not shown to be worse" in said(verdict(board(first, second, pair_of_seeds), {}))
    assert "1 entry is not shown to be worse" in said(verdict(board(first, second, lone), {}))


def test_the_verdict_describes_ties_in_words() -> None:
    entries = [entry("a", 1.0, 1), entry("b", 1.1, 1), entry("c", 1.2, 2), entry("d", None)]
    assert ties(board(*entries)) == ["a and b: no difference is shown"]
    entries[1].n_seeds = 1
    assert ties(board(*entries)) == []


FIVE = {"layer_norm": 5, "none": 5}


def profile(method: str, area: float) -> MethodProfile:
    return MethodProfile(1, method, area, 1, {}, {}, [], [])


def overall(tasks: int, *methods: MethodProfile) -> Overall:
    ranked = [RankedTask(f"t{k}", 0.5, 1.0, None) for k in range(tasks)]
    return Overall("small", "steps_to_target", 4.0, ranked, [], list(methods), "", [])


def test_the_overall_verdict_over_few_tasks_names_no_winner() -> None:
    two = (profile("layer_norm", 0.9), profile("none", 0.4))
    assert said(overall_verdict(overall(3, *two), FIVE)) == (
        "layer_norm is nearly the fastest most often: area 0.900 over 3 tasks, the fastest of 1; the method none"
        " has 0.400."
    )
    assert said(overall_verdict(overall(2, *two), FIVE)).startswith(
        "Too few tasks to say who wins overall; layer_norm has"
    )
    assert said(overall_verdict(overall(3, profile("a", 0.5), profile("b", 0.5)), {})).startswith(
        "a and b have the same area"
    )
    assert overall_verdict(overall(0), {}) is None


def test_the_overall_verdict_names_methods_with_too_few_seeds() -> None:
    two = (profile("layer_norm", 0.9), profile("none", 0.4))
    assert said(overall_verdict(overall(3, *two), {**FIVE, "none": 1})) == (
        "Too few seeds to say who wins overall: the method none (1 of 3 seeds). With these seeds, layer_norm has area"
        " 0.900 over 3 tasks, the fastest of 1; 3 seeds each are the least that tells anything, 5 are better."
    )
