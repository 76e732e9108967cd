"""An order holds in a seed if each spec is strictly better than the next spec."""

import math

from benchmarks.reproductions.orders import Held, held


def test_every_seed_is_counted_by_itself() -> None:
    first, second, third = {0: 3.0, 1: 3.0, 2: 1.0}, {0: 2.0, 1: 1.0, 2: 2.0}, {0: 1.0, 1: 2.0, 2: 0.0}
    assert held([first, second, third], "maximize") == Held(seeds=1, of=3, pairs=[2, 2])
    assert held([first, second, third], "minimize") == Held(seeds=0, of=3, pairs=[1, 1])
    assert held([third, second], "minimize") == Held(seeds=2, of=3, pairs=[2])


def test_equal_results_have_no_order() -> None:
    assert held([{0: 1.0}, {0: 1.0}], "maximize").seeds == held([{0: 1.0}, {0: 1.0}], "minimize").seeds == 0


def test_a_spec_without_a_result_comes_last_and_two_of_them_have_no_order() -> None:
    for direction in ("maximize", "minimize"):
        assert held([{0: 5.0}, {0: None}], direction).seeds == 1
        assert held([{0: None}, {0: 5.0}], direction).seeds == 0
        assert held([{0: math.nan}, {0: 5.0}], direction).seeds == 0
        assert held([{0: None}, {0: None}], direction).seeds == 0


def test_only_seeds_of_all_specs_count() -> None:
    assert held([{0: 2.0, 1: 2.0, 5: 2.0}, {1: 1.0, 5: 3.0, 7: 0.0}], "maximize") == Held(seeds=1, of=2, pairs=[1])
