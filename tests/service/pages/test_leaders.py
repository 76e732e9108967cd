"""The answer of the first page, from values."""

import pytest

from service.leaderboards.schemas import MethodProfile, Overall, RankedTask
from service.pages.leaders import fastest, leaders
from service.pages.method_ranks import BoardColumn, MethodRank, RankTable
from service.pages.seeds import TooFew

FIRST, TIED, SECOND = MethodRank(1, [], 0.9), MethodRank(1, ["other"], 0.9), MethodRank(2, [], 0.8)
LOST, FEW = MethodRank(None, [], None), MethodRank(None, [], 0.9, few=TooFew(1, ""))


def table(**ranks: list[MethodRank]) -> RankTable:
    """Ranks of methods, one for each task."""
    count = max(map(len, ranks.values()))
    columns = [
        BoardColumn(f"task_{k}", "accuracy", {name: own[k] for name, own in ranks.items() if k < len(own)})
        for k in range(count)
    ]
    return RankTable([*ranks], columns)


@pytest.mark.parametrize(
    ("ranks", "said"),
    [
        ({"layer_norm": [FIRST, FIRST, SECOND], "none": [SECOND, SECOND, FIRST]}, "layer_norm leads on 2 of 3 tasks"),
        (
            {"layer_norm": [FIRST, TIED], "rms_norm": [SECOND, TIED]},
            "layer_norm leads on 1 of 2 tasks and ties for first on 1",
        ),
        (
            {"layer_norm": [FIRST, SECOND], "rms_norm": [SECOND, FIRST]},
            "layer_norm and rms_norm lead on 1 of 2 tasks each",
        ),
        (
            {"layer_norm": [TIED], "rms_norm": [TIED]},
            "No method leads alone: layer_norm and rms_norm tie for first on 1 of 1 task",
        ),
        ({"none": [FIRST], "rms_norm": [SECOND]}, "The method none leads on 1 of 1 task"),
        ({"none": [FIRST, FEW], "rms_norm": [SECOND, FEW]}, "The method none leads on 1 of 1 task"),
        (
            {f"m{k}": [TIED] for k in range(5)},
            "No method leads alone: m0, m1, m2 and 2 other entries tie for first on 1 of 1 task",
        ),
        ({"none": [LOST], "rms_norm": [FEW]}, ""),
    ],
)
def test_the_answer_names_the_methods_that_lead_on_most_tasks(ranks: dict[str, list[MethodRank]], said: str) -> None:
    assert leaders(table(**ranks)) == said


def profile(method: str, area: float, *times: float | None) -> MethodProfile:
    return MethodProfile(1, method, area, 1, {f"task_{k}": time for k, time in enumerate(times)}, {}, [], [])


def overall(*methods: MethodProfile, tasks: int = 2) -> Overall:
    ranked = [RankedTask(f"task_{k}", 0.5, 1.0, None) for k in range(tasks)]
    return Overall("small", "seconds_to_target", 4.0, ranked, [], list(methods), "", [])


def test_the_fastest_method_has_its_mean_speed_up_against_none() -> None:
    found = overall(profile("layer_norm", 0.9, 10.0, 10.0), profile("none", 0.5, 20.0, 80.0))
    said = ("fastest: layer_norm, ×4.00", "fastest: seconds to the target, against none")
    assert fastest(found, {"layer_norm": 5, "none": 3}) == said
    missed = overall(profile("layer_norm", 0.9, 10.0, 10.0), profile("none", 0.5, 20.0, None))
    assert fastest(missed, {})[0] == "fastest: layer_norm, ×2.00"


def test_the_fastest_method_is_named_without_a_ratio_if_there_is_nothing_to_compare_it_with() -> None:
    plain = "fastest: seconds to the target"
    assert fastest(overall(profile("none", 0.9, 1.0), profile("rms_norm", 0.1, 2.0)), {}) == (
        "fastest: the method none",
        plain,
    )
    assert fastest(overall(profile("rms_norm", 0.9, 1.0), profile("layer_norm", 0.9, 2.0)), {}) == (
        "fastest: rms_norm and layer_norm",
        plain,
    )
    assert fastest(overall(profile("rms_norm", 0.9, 1.0)), {"rms_norm": 2}) == ("", "")
    assert fastest(overall(profile("rms_norm", 0.9, 1.0), tasks=0), {}) == ("", "")
