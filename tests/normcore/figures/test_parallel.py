"""Figure of parallel coordinates."""

from normcore.figures.parallel import ParallelAxis, ParallelLine, parallel

AXES = [ParallelAxis("lr", [(0, "0.001"), (1, "a name that is far too long")]), ParallelAxis("test", [(0, "10%")])]
LINES = [
    ParallelLine("a: 90%", [0, 1.0], "best"),
    ParallelLine("b: 20%", [1, 0.1], "other"),
    ParallelLine("c: 30%", [0.5, 0.2], "other"),
    ParallelLine("d: –", [1, None], "diverged"),
]


def test_cells_of_a_kind_are_lines_with_gaps_and_the_best_is_on_top() -> None:
    drawn = parallel(AXES, LINES, "light", title="lines")
    assert [trace["name"] for trace in drawn["data"]] == ["other cells (2)", "diverged (1)", "best by validation"]
    assert drawn["data"][0]["x"] == [0, 1, None, 0, 1, None]
    assert drawn["data"][0]["y"] == [1, 0.1, None, 0.5, 0.2, None]
    assert drawn["data"][0]["text"][3] == "c: 30%"
    assert drawn["data"][1]["y"] == [1, None, None]
    assert {trace["type"] for trace in drawn["data"]} == {"scatter"}


def test_each_field_has_an_axis_with_short_labels() -> None:
    layout = parallel(AXES, LINES, "dark", title="lines")["layout"]
    assert (layout["xaxis"]["ticktext"], len(layout["shapes"])) == (["lr", "test"], 2)
    assert [note["text"] for note in layout["annotations"]] == ["0.001", "a name that i…", "10%"]
