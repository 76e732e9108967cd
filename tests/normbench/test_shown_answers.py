"""Answers in a notebook: tables of escaped text without a script, and data frames."""

import json
from collections.abc import Iterator
from html.parser import HTMLParser
from io import StringIO
from typing import Any, assert_type

import pytest
from IPython.lib.pretty import RepresentationPrinter
from pydantic import BaseModel, TypeAdapter

from normbench.answers import Entry, Run
from normbench.shown_answers import (
    Comparison,
    Experiment,
    Leaderboard,
    Overall,
    Pages,
    Plan,
    ReportCard,
    ShownAnswer,
    ShownFigure,
    ShownList,
    Sweep,
    SweepPlan,
)
from service.comparisons import examples as comparisons
from service.experiments import examples as experiments
from service.leaderboards import examples as leaderboards
from service.report_cards import examples as report_cards
from service.sweeps import examples as sweeps

HOSTILE = "<script>alert(1)</script>"


class Html(HTMLParser):
    """Tags and text of HTML."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags = list[str]()
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def plain(example: Any) -> dict[str, Any]:
    """An example of the API's description as the client gets it."""
    found = (
        example.model_dump_json() if isinstance(example, BaseModel) else TypeAdapter(type(example)).dump_json(example)
    )
    return json.loads(found)  # type: ignore[no-any-return]


def report_card() -> dict[str, Any]:
    """The example of a report card, with all findings of its analysis."""
    found = plain(report_cards.REPORT_CARD)
    cost = found["cells"]["lstm"]["step_cost"]
    [ratio] = cost["findings"]
    cost["findings"] = [{**ratio, "name": name} for name in ("ratio", "ratio.low", "ratio.high")]
    return found


ANSWERS: dict[str, tuple[ShownAnswer, int]] = {
    "leaderboard": (Leaderboard(plain(leaderboards.LEADERBOARD)), len(leaderboards.LEADERBOARD.entries)),
    "overall": (Overall(plain(leaderboards.OVERALL)), len(leaderboards.OVERALL.methods)),
    "comparison": (Comparison(plain(comparisons.COMPARISON)), len(comparisons.COMPARISON.entries)),
    "experiment": (Experiment(plain(experiments.EXPERIMENT)), len(experiments.EXPERIMENT.runs)),
    "sweep": (Sweep(plain(sweeps.SWEEP)), len(sweeps.SWEEP.cells)),
    "report card": (ReportCard(report_card()), 4),
    "plan": (Plan(plain(experiments.PLAN)), 1),
    "plan of a sweep": (SweepPlan(plain(sweeps.PLAN)), 1),
}


@pytest.mark.parametrize("what", ANSWERS)
def test_an_answer_is_a_table_without_a_script(what: str) -> None:
    answer, _ = ANSWERS[what]
    html = Html(answer._repr_html_())
    assert ("pre" if "plan" in what else "table") in html.tags
    assert "script" not in html.tags
    assert "layer_norm" in html.text or "plan" in what


@pytest.mark.parametrize("what", ANSWERS)
def test_an_answer_becomes_a_frame_with_a_row_for_each_part(what: str) -> None:
    answer, rows = ANSWERS[what]
    frame = answer.to_frame()
    assert len(frame) == rows
    assert json.loads(json.dumps(answer)) == answer, "it is still the answer"


@pytest.mark.parametrize("what", ANSWERS)
def test_an_answer_is_a_table_of_text_where_there_is_no_html(what: str) -> None:
    answer, _ = ANSWERS[what]
    printer = RepresentationPrinter(output := StringIO())
    printer.pretty(answer)
    printer.flush()
    shown = output.getvalue()
    assert "{" not in shown
    assert shown.splitlines()[0].strip() in Html(answer._repr_html_()).text


def test_columns_are_named_by_the_path_of_their_field() -> None:
    board = ANSWERS["leaderboard"][0].to_frame()
    assert {"fingerprint", "value.mean", "speedup.steps"} <= set(board)
    comparison = ANSWERS["comparison"][0].to_frame()
    assert "difference.mean" in set(comparison)
    assert not {name for name in comparison if name.startswith(("runs", "curve", "survival"))}
    experiment = ANSWERS["experiment"][0].to_frame()
    assert {"seed", "state", "result.value", "name"} <= set(experiment)
    assert {name.partition(".")[0] for name in ANSWERS["sweep"][0].to_frame()} >= {"values", "entry"}
    card = ANSWERS["report card"][0].to_frame()
    assert list(card["analysis"]) == ["step_cost"] * 3 + ["standing"]
    assert card["cell"][0] == "lstm"


def test_text_of_users_is_escaped() -> None:
    written = plain(experiments.EXPERIMENT)
    written["spec"]["labels"] = {"mark": HOSTILE}
    written["runs"][0]["error"] = HOSTILE
    html = Experiment(written)._repr_html_()
    assert HOSTILE not in html
    assert "script" not in Html(html).tags
    assert Html(html).text.count(HOSTILE) == 2, "it is shown as text"
    html = ShownList([{"name": HOSTILE, HOSTILE: 1}])._repr_html_()
    assert "script" not in Html(html).tags


def test_a_list_is_a_table_of_its_plain_fields_and_a_frame() -> None:
    shown = ShownList([{"name": "a", "nested": {"x": 1}}, {"name": "b"}])
    assert Html(shown._repr_html_()).text == "2 in the listnameab"
    assert list(shown.to_frame()["name"]) == ["a", "b"]
    assert "none" in Html(ShownList()._repr_html_()).text


def test_pages_are_read_as_they_are_needed() -> None:
    asked = list[int]()

    def rows() -> Iterator[dict[str, Any]]:
        for k in range(10):
            asked.append(k)
            yield {"k": k}

    pages = Pages(rows(), "experiments")
    assert "An iterator over experiments" in pages._repr_html_()
    assert asked == []
    assert list(pages.to_frame(most=3)["k"]) == [0, 1, 2]
    assert asked == [0, 1, 2]
    assert [row["k"] for row in pages] == [3, 4, 5, 6, 7, 8, 9]


def test_a_figure_offers_itself_to_plotly() -> None:
    figure = ShownFigure({"data": [], "layout": {"title": {"text": HOSTILE}}})
    bundle = figure._repr_mimebundle_(include=None, exclude=None)
    assert bundle["application/vnd.plotly.v1+json"] == figure
    assert HOSTILE not in bundle["text/html"]


def test_types_of_fields_and_methods_are_known_to_mypy_and_editors() -> None:
    """mypy checks the types, and that the wrong key is refused, when it checks this file."""
    board = Leaderboard(plain(leaderboards.LEADERBOARD))
    assert_type(board["entries"], list[Entry])
    assert_type(board["target"], float | None)
    with pytest.raises(KeyError):
        board["entires"]  # type: ignore[call-overload]
    assert_type(Experiment(plain(experiments.EXPERIMENT))["runs"][0], Run)
