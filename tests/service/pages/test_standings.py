"""Who stands where."""

from service.pages.standings import Column, Standing, Standings

LOST, THIRD = Standing(None, False, None), Standing(3, False, 0.5)


def test_all_have_diverged_where_no_entry_of_these_tasks_has_a_value() -> None:
    columns = [
        Column("lost", "accuracy", {"none": LOST, "layer_norm": LOST}),
        Column("won", "accuracy", {"none": THIRD}),
    ]
    found = Standings(["none", "layer_norm"], columns)
    assert found.all_diverged(["lost"])
    assert not found.all_diverged(["lost", "won"])
    assert not found.all_diverged(["unmeasured"])
