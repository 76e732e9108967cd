"""The pages of tasks: their rules, their data, the way to their boards."""

import httpx
import pytest
from playwright.sync_api import expect

from normcore.spec import TASKS
from service.pages.options import may_be
from service.pages.tasks import answer
from tests.service.pages.conftest import NewPage, Site, check_looks
from tests.service.pages.test_targets import check_targets

HTML = {"Accept": "text/html"}


def test_pages_of_tasks_are_accessible(site: Site, new_page: NewPage) -> None:
    page = new_page(site)
    for path in ("/tasks", "/tasks/permuted_mnist", "/tasks/gradient_flow"):
        page.goto(path)
        check_looks(page)


@pytest.mark.parametrize("name", TASKS)
def test_every_task_has_its_page(empty_site: Site, name: str) -> None:
    shown = httpx.get(f"{empty_site.url}/tasks/{name}", headers=HTML)
    assert shown.status_code == 200
    assert f"/v1/tasks/{name}" in shown.text


def test_data_that_is_missing_comes_with_the_command_that_fetches_it(site: Site, new_page: NewPage) -> None:
    page = new_page(site)
    page.goto("/tasks/permuted_mnist")
    data = page.locator(".dataset")
    expect(data).to_contain_text("missing")
    expect(data).to_contain_text("normbench data fetch mnist")
    expect(page.get_by_role("link", name="arXiv:1603.09025")).to_have_attribute(
        "href", "https://arxiv.org/abs/1603.09025"
    )
    page.get_by_role("link", name="10 entries").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Permuted MNIST")


def test_the_first_card_says_which_method_is_best_and_which_rate_to_take(month_site: Site, new_page: NewPage) -> None:
    page = new_page(month_site)
    page.goto("/tasks/permuted_digits")
    first = page.locator("main > section").first
    expect(first).to_contain_text("tie for first (")
    expect(first).to_contain_text("Learning rate for recurrent_batch_norm: 0.002, the best of 6 by validation")
    expect(first).to_contain_text("The profile has 0.002.")
    table = page.get_by_role("table", name="Learning rates that were best on permuted_digits, small")
    expect(table.locator("tbody tr")).to_have_count(7)
    check_looks(page)
    check_targets(page)
    first.get_by_role("link", name="Board of small").click()
    expect(page).to_have_url(f"{month_site.url}/boards/permuted_digits?profile=small")


def test_a_task_without_entries_says_what_to_submit(empty_site: Site) -> None:
    shown = httpx.get(f"{empty_site.url}/tasks/permuted_mnist", headers=HTML).text
    assert (
        'Nothing is measured here yet: <a href="/submit?task=permuted_mnist">submit the first experiment</a>' in shown
    )
    assert "Which learning rate" not in shown


def test_an_unchanged_page_of_a_task_is_not_sent_again(site: Site) -> None:
    with httpx.Client(base_url=site.url, headers=HTML) as client:
        etag = client.get("/tasks/permuted_mnist").headers["etag"]
        assert client.get("/tasks/permuted_mnist", headers={"If-None-Match": etag}).status_code == 304


def test_a_task_leads_to_its_form(site: Site, new_page: NewPage) -> None:
    page = new_page(site)
    page.goto("/tasks/sequential_digits")
    page.get_by_role("link", name="Submit the first").first.click()
    expect(page.get_by_role("combobox", name="Task")).to_have_value("sequential_digits")


def test_the_answer_says_in_a_sentence_which_metric_decides() -> None:
    assert answer("permuted_mnist") == (
        "The method with the highest accuracy on test data wins, with the model that has the best validation accuracy."
    )
    assert answer("char_lm").startswith("The method with the lowest bits per char")
    assert answer("handwriting") == "The method with the lowest nats on test data wins, by the last evaluation."
    assert answer("step_cost") == "An analysis: it gives findings, not ranks."


def test_names_in_descriptions_are_set_as_code(empty_site: Site) -> None:
    shown = httpx.get(f"{empty_site.url}/tasks", headers=HTML).text
    assert "<code>image_recall</code>" in shown
    assert "``" not in shown


@pytest.mark.parametrize(("name", "has_numbers"), [("permuted_mnist", True), ("gradient_flow", False)])
def test_profiles_have_a_column_of_numbers_if_there_are_numbers(empty_site: Site, name: str, has_numbers: bool) -> None:
    shown = httpx.get(f"{empty_site.url}/tasks/{name}", headers=HTML).text
    assert ('<th scope="col">Numbers</th>' in shown) == has_numbers
    assert ('<td class="numbers">' in shown) == has_numbers


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "number", "exclusiveMinimum": 0}, "number > 0"),
        ({"type": "integer", "minimum": 1, "maximum": 65536}, "whole number ≥ 1 and ≤ 65\u202f536"),
        ({"anyOf": [{"type": "integer", "minimum": 2}, {"type": "null"}]}, "whole number ≥ 2 or none"),
        ({"enum": ["a", "b", "c"]}, "a, b or c"),
        ({"type": "array", "items": {"enum": ["i", "f"]}}, "list of: i or f"),
        ({"$ref": "#/$defs/X"}, "see the API"),
    ],
)
def test_the_values_that_an_option_may_have_are_described_in_words(schema: dict[str, object], words: str) -> None:
    assert may_be(schema) == words
