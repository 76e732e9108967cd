"""Levels of a sweep's fields: their values, or ranges of many numbers."""

from service.sweeps.levels import BINS, MAX_TEXTS, make_field


def test_few_numbers_are_levels_in_their_order() -> None:
    field = make_field("training.optimizer.lr", [0.1, 0.001, 0.01, 0.1])
    assert field is not None
    assert (field.name, field.levels, field.of_cells) == ("lr", ["0.001", "0.01", "0.1"], [2, 0, 1, 2])
    assert (field.places, field.is_binned) == ([1, 0, 0.5, 1], False)


def test_many_numbers_fall_into_ranges_of_equally_many() -> None:
    field = make_field("norm.eps", [k / 1000 for k in range(1, 61)])
    assert field is not None
    assert field.is_binned
    assert [field.of_cells.count(level) for level in range(BINS)] == [10] * BINS
    assert field.levels[0] == "0.001 – 0.01"
    assert (field.places[0], field.places[-1]) == (0, 1)


def test_ranges_have_different_names_however_close_their_numbers_are() -> None:
    field = make_field("norm.eps", [1 + k * 1e-7 for k in range(60)])
    assert field is not None
    assert len(set(field.levels)) == BINS


def test_whole_parts_are_named_by_tag_and_options_and_truth_is_no_number() -> None:
    parts = [{"method": "none"}, {"method": "rms_norm", "eps": 0.1}]
    field = make_field("norm", parts)
    assert field is not None
    assert field.levels == ["none", "rms_norm, eps 0.1"]
    switch = make_field("model.bidirectional", [True, False, True])
    assert switch is not None
    assert (switch.levels, switch.of_cells) == (["true", "false"], [0, 1, 0])


def test_too_many_texts_have_no_levels() -> None:
    assert make_field("labels", [f"text {k}" for k in range(MAX_TEXTS + 1)]) is None
