"""The page that submits, in a browser: journeys with and without scripts, by fields and by YAML."""

import re
from typing import Any

import httpx
import pytest
import yaml
from markupsafe import escape
from playwright.sync_api import Page, expect

from tests.service.pages.conftest import LOOKS, NewPage, Site, check_looks

LABEL = "<script>alert(1)</script>"
EXPERIMENT = re.compile(r"/experiments/exp_[0-9A-Z]{26}$")


def field(page: Page, name: str) -> Any:
    """The control of a field of the spec."""
    return page.locator(f'[id="f-{name}"]')


def spec_of(site: Site, page: Page) -> Any:
    """The spec of the experiment whose page is shown."""
    experiment = page.url.rpartition("/")[2]
    return httpx.get(f"{site.url}/v1/experiments/{experiment}").json()["spec"]


def newest(site: Site) -> list[str]:
    return [one["id"] for one in httpx.get(f"{site.url}/v1/experiments").json()["items"]]


def test_everybody_can_use_the_form(site: Site, new_page: NewPage) -> None:
    page = new_page(site)
    page.goto("/submit?task=permuted_digits&method=recurrent_batch_norm")
    page.get_by_text("What is this?").first.click()
    check_looks(page)
    field(page, "norm.eps").fill("-1")
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(page.locator("#wrong")).to_be_visible()
    check_looks(page)


def test_a_submission_tells_its_cost_and_leads_to_the_experiment(fresh_site: Site, new_page: NewPage) -> None:
    page = new_page(fresh_site)
    page.goto("/submit")
    page.get_by_label("smoke").check(force=True)
    field(page, "norm.method").select_option("layer_norm")
    field(page, "seeds").fill("0, 1 2")
    expect(page.locator("#comes-to")).to_contain_text("3 runs; how long is not known yet")
    expect(page.locator("#comes-to")).to_contain_text("Next in the queue; no worker takes runs of the device auto now.")
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(page).to_have_url(EXPERIMENT)
    spec = spec_of(fresh_site, page)
    assert (spec["task"]["profile"], spec["norm"]["method"], spec["seeds"]) == ("smoke", "layer_norm", [0, 1, 2])


def test_the_estimate_uses_measured_runs_and_names_measured_seeds(site: Site, new_page: NewPage) -> None:
    page = new_page(site)
    page.goto("/submit?task=permuted_digits&profile=small&method=layer_norm")
    expect(page.locator("#comes-to")).to_contain_text("Seeds 0, 1 and 2 are measured here already.")
    expect(field(page, "seeds")).to_have_value("0, 1, 2, 3, 4")
    field(page, "seeds").fill("0, 1, 2")
    expect(page.locator("#comes-to")).to_contain_text(
        "All these seeds are measured here already; other seeds would tell more."
    )
    field(page, "seeds").fill("0, 1, 2, 9")
    expect(page.locator("#comes-to")).to_contain_text("Seeds 0, 1 and 2 are measured here already.")
    asked = {"task": {"name": "permuted_digits"}, "norm": {"method": "layer_norm"}, "seeds": [0, 1, 2, 9]}
    plan = httpx.post(f"{site.url}/v1/experiments?dry_run=true", json=asked).json()
    assert plan["total_seconds_range"] == [13.0, 13.384]
    expect(page.locator("#comes-to .claim")).to_have_text("4 runs, about 13 s")
    expect(page.locator("#comes-to")).to_contain_text("Measured: 3 runs of this spec on cpu")


def test_an_error_stands_at_its_field_and_the_rest_is_kept(fresh_site: Site, new_page: NewPage) -> None:
    page = new_page(fresh_site)
    page.goto("/submit?method=recurrent_batch_norm")
    field(page, "training.max_steps").fill("77")
    field(page, "norm.eps").fill("-1")
    page.get_by_role("button", name="Submit", exact=True).click()
    summary = page.locator("#wrong")
    expect(summary).to_be_focused()
    expect(summary).to_contain_text("Nothing was submitted: 1 thing to repair")
    expect(field(page, "norm.eps")).to_have_value("-1")
    expect(field(page, "norm.eps")).to_have_attribute("aria-invalid", "true")
    expect(field(page, "norm.eps")).to_have_accessible_description(
        re.compile("Expected a number greater than 0, not -1")
    )
    expect(field(page, "training.max_steps")).to_have_value("77")
    summary.get_by_role("link", name="norm.eps").click()
    expect(field(page, "norm.eps")).to_be_focused()
    assert newest(fresh_site) == []


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_three_wrong_fields_each_show_their_own_error(fresh_site: Site, new_page: NewPage, scripts: bool) -> None:
    page = new_page(fresh_site, scripts=scripts)
    page.goto("/submit?method=layer_norm")
    typed = {"norm.eps": "tiny", "training.batch_size": "0", "seeds": "0, 0", "model.hidden_size": "48"}
    for name, text in typed.items():
        field(page, name).fill(text)
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(page.locator("#wrong")).to_contain_text("3 things to repair")
    told = {"norm.eps": "a number", "training.batch_size": "greater than or equal to 1", "seeds": "every seed once"}
    for name, words in told.items():
        expect(page.locator(f'[id="e-{name}"]')).to_contain_text(words)
        expect(field(page, name)).to_have_attribute("aria-invalid", "true")
    for name, text in typed.items():
        expect(field(page, name)).to_have_value(text)
    assert newest(fresh_site) == []


def test_fields_follow_the_yaml_and_the_yaml_the_fields(fresh_site: Site, new_page: NewPage) -> None:
    page = new_page(fresh_site)
    page.goto("/submit")
    yaml = field(page, "yaml")
    field(page, "training.max_steps").fill("50")
    expect(yaml).to_have_value(re.compile("training:\n  max_steps: 50\n"))
    yaml.fill("task: {name: permuted_digits, profile: smoke}\nnorm: {method: rms_norm, eps: 0.5}\nseeds: [3, 4]\n")
    expect(field(page, "norm.method")).to_have_value("rms_norm")
    expect(field(page, "norm.eps")).to_have_value("0.5")
    expect(field(page, "seeds")).to_have_value("3, 4")
    expect(field(page, "training.max_steps")).to_have_value("40")
    expect(page.locator("#comes-to .claim")).to_contain_text("2 runs")
    field(page, "norm.eps").fill("0.25")
    expect(yaml).to_have_value(re.compile("eps: 0.25"))
    yaml.fill("norm: {method: layer_norm, epz: 1}\ntask: {name: permuted_digits}")
    expect(page.locator("#comes-to")).to_contain_text("norm.epz: Unknown field; did you mean 'eps'?")
    yaml.fill("task: [")
    expect(page.locator('[id="e-yaml"]')).not_to_be_empty()
    expect(yaml).to_have_value("task: [")


def test_a_field_is_marked_while_it_is_changed_and_reset_by_a_click(fresh_site: Site, new_page: NewPage) -> None:
    page = new_page(fresh_site)
    page.goto("/submit")
    field(page, "training.batch_size").fill("16")
    reset = page.get_by_role("button", name="Reset batch size")
    expect(reset).to_be_visible()
    reset.click()
    expect(reset).to_have_count(0)
    expect(field(page, "training.batch_size")).to_have_value("64")
    expect(field(page, "training.batch_size")).to_be_focused()
    page.get_by_label("none, for target").check()
    expect(page.get_by_role("button", name="Reset target")).to_be_visible()
    expect(field(page, "yaml")).to_have_value(re.compile("target: null"))
    page.get_by_role("button", name="Reset all").click()
    expect(field(page, "target")).to_have_count(0)
    expect(field(page, "training.target")).to_have_value("0.5")


def test_another_task_has_other_fields_and_keeps_values_that_fit(fresh_site: Site, new_page: NewPage) -> None:
    page = new_page(fresh_site)
    page.goto("/submit?method=layer_norm")
    field(page, "norm.eps").fill("0.5")
    field(page, "task.name").focus()
    field(page, "task.name").select_option("feedforward")
    expect(field(page, "model.hidden_sizes")).to_be_visible()
    expect(field(page, "model.cell")).to_have_count(0)
    expect(field(page, "norm.eps")).to_have_value("0.5")
    expect(field(page, "task.name")).to_be_focused()
    field(page, "task.name").select_option("fisher_geometry")
    expect(field(page, "norm.method")).to_have_count(0)
    expect(page.locator("#comes-to .claim")).to_contain_text("1 run")


def test_typing_is_never_disturbed_by_an_answer_of_the_service(fresh_site: Site, new_page: NewPage) -> None:
    page = new_page(fresh_site)
    page.goto("/submit?method=layer_norm")
    eps = field(page, "norm.eps")
    eps.fill("")
    for letter in "0.125":
        eps.press_sequentially(letter)
        expect(page.locator(".estimate")).not_to_have_attribute("data-asking", "")
    expect(eps).to_be_focused()
    expect(eps).to_have_value("0.125")
    expect(field(page, "yaml")).to_have_value(re.compile(r"eps: 0\.125"))


def test_the_keyboard_alone_submits(fresh_site: Site, new_page: NewPage) -> None:
    page = new_page(fresh_site)
    page.goto("/submit")
    reach(page, "f-task.profile-small")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_label("smoke")).to_be_checked()
    reach(page, "f-norm.method")
    page.keyboard.type("layer")
    expect(field(page, "norm.method")).to_have_value("layer_norm")
    reach(page, "f-seeds")
    page.keyboard.press("Control+A")
    page.keyboard.type("0 1")
    page.keyboard.press("Enter")  # shows the estimate, and submits nothing yet
    expect(page.locator("#comes-to .claim")).to_contain_text("2 runs")
    reach_button(page, "Submit")
    page.keyboard.press("Enter")
    expect(page).to_have_url(EXPERIMENT)
    assert spec_of(fresh_site, page)["seeds"] == [0, 1]


def reach(page: Page, id: str) -> None:
    """Press Tab until the element has the focus."""
    for _ in range(120):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == id:
            return
    raise AssertionError(f"Tab does not reach {id}")


def reach_button(page: Page, name: str) -> None:
    for _ in range(120):
        page.keyboard.press("Tab")
        if (
            page.evaluate("document.activeElement.matches('.estimate button') && document.activeElement.textContent")
            == name
        ):
            return
    raise AssertionError(f"Tab does not reach the button {name}")


def test_the_form_works_without_scripts(fresh_site: Site, new_page: NewPage) -> None:
    page = new_page(fresh_site, scripts=False)
    page.goto("/submit")
    field(page, "task.name").select_option("feedforward")
    page.get_by_role("button", name="Apply").click()
    expect(field(page, "model.hidden_sizes")).to_be_visible()
    page.get_by_label("smoke").check(force=True)
    page.get_by_role("button", name="Apply").click()
    field(page, "training.batch_size").fill("16")
    page.get_by_role("button", name="Estimate").click()
    expect(page.locator("#comes-to .claim")).to_contain_text("5 runs")
    expect(field(page, "yaml")).to_have_value(re.compile("batch_size: 16"))
    page.get_by_role("button", name="Reset batch size").click()
    expect(field(page, "yaml")).not_to_have_value(re.compile("batch_size"))
    field(page, "yaml").fill("task: {name: permuted_digits, profile: smoke}\nnorm: {method: layer_norm}\nseeds: [5]\n")
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(page).to_have_url(EXPERIMENT)
    spec = spec_of(fresh_site, page)
    assert (spec["task"]["name"], spec["norm"]["method"], spec["seeds"]) == ("permuted_digits", "layer_norm", [5])


def test_a_form_submits_once_and_a_changed_one_says_so(fresh_site: Site, new_page: NewPage) -> None:
    page = new_page(fresh_site)
    page.goto("/submit?profile=smoke&method=layer_norm")
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(page).to_have_url(EXPERIMENT)
    first = page.url
    page.go_back()
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(page).to_have_url(first)
    page.go_back()
    field(page, "seeds").fill("8")
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(page.locator("#wrong")).to_contain_text("this form was sent before", ignore_case=True)
    expect(field(page, "seeds")).to_have_value("8")
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(page).to_have_url(EXPERIMENT)
    assert len(newest(fresh_site)) == 2


def test_an_earlier_experiment_can_be_submitted_again(fresh_site: Site, new_page: NewPage) -> None:
    asked = {
        "task": {"name": "permuted_digits", "profile": "smoke"},
        "norm": {"method": "recurrent_batch_norm", "gain_init": 0.5, "sites": ["recurrent"]},
        "training": {"optimizer": {"name": "adam", "lr": 0.01}, "target": None},
        "seeds": [3, 4],
        "labels": {"note": LABEL},
    }
    earlier = httpx.post(f"{fresh_site.url}/v1/experiments", json=asked).json()
    page = new_page(fresh_site)
    page.goto(f"/submit?from={earlier['id']}")
    expect(field(page, "labels")).to_have_value(f"note: {LABEL}")
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(page).to_have_url(EXPERIMENT)
    again = httpx.get(f"{fresh_site.url}/v1/experiments/{page.url.rpartition('/')[2]}").json()
    assert again["id"] != earlier["id"]
    assert again["spec"] == earlier["spec"]


@pytest.mark.parametrize("path", ["/submit?task=nothing", "/submit?profile=huge", "/submit?bogus=1"])
def test_a_link_that_names_nothing_known_is_refused(empty_site: Site, path: str) -> None:
    answer = httpx.get(empty_site.url + path, headers={"Accept": "text/html"})
    assert answer.status_code == 422


def test_other_sites_cannot_submit(fresh_site: Site) -> None:
    fields = {"task.name": "permuted_digits", "task.profile": "smoke", "norm.method": "none", "action": "submit"}
    answer = httpx.post(f"{fresh_site.url}/submit", data=fields, headers={"Origin": "https://evil.example"})
    assert answer.status_code == 403
    assert newest(fresh_site) == []
    own = httpx.post(f"{fresh_site.url}/submit", data=fields)
    assert (own.status_code, bool(EXPERIMENT.search(own.headers["location"]))) == (303, True)


@pytest.mark.parametrize("key", ["page-" + "x" * 300, "page-\0" + "x" * 21])
def test_a_key_that_no_page_made_is_not_stored(fresh_site: Site, key: str) -> None:
    fields = {"task.name": "permuted_digits", "task.profile": "smoke", "norm.method": "none", "action": "submit"}
    answers = [httpx.post(f"{fresh_site.url}/submit", data={**fields, "idempotency_key": key}) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [303, 303]
    assert answers[0].headers["location"] != answers[1].headers["location"]


def test_a_text_longer_than_any_spec_is_not_read(empty_site: Site) -> None:
    fields = {"task.name": "permuted_digits", "yaml": "a: " + "[" * 40_000, "action": "submit"}
    answer = httpx.post(f"{empty_site.url}/submit", data=fields)
    assert answer.status_code == 422
    assert "The YAML has over 32,768 bytes; shorten it" in answer.text


@pytest.mark.parametrize(
    "yaml",
    ["[]", "3", "task: {name: permuted_digits, name: x}", "a: &a [*a]", "task: {name: [1]}", "task: 3\nnorm: []"],
)
def test_a_yaml_that_is_no_spec_is_refused_and_kept(empty_site: Site, yaml: str) -> None:
    answer = httpx.post(f"{empty_site.url}/submit", data={"yaml": yaml, "action": "submit"})
    assert answer.status_code == 422
    assert f">{escape(yaml)}</textarea>" in answer.text


SWEEP_PAGE = re.compile(r"/sweeps/swp_[0-9A-Z]{26}$")


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_several_values_in_a_field_make_a_sweep(fresh_site: Site, new_page: NewPage, scripts: bool) -> None:
    page = new_page(fresh_site, scripts=scripts)
    page.goto("/submit?task=permuted_digits&profile=smoke&method=layer_norm")
    field(page, "training.optimizer.lr").fill("1e-4..1e-1 log 4")
    field(page, "training.batch_size").fill("8, 16")
    page.get_by_text("Several methods").click()
    page.get_by_label("none", exact=True).first.check()
    if not scripts:
        page.get_by_role("button", name="Estimate").click()
    expect(page.locator("#comes-to .claim")).to_have_text("16 cells, 80 runs; how long is not known yet")
    expect(page.locator("#comes-to")).to_contain_text("Memory: a run needs at least")
    assert yaml.safe_load(field(page, "yaml").input_value()) == {
        "spec": {"task": {"name": "permuted_digits", "profile": "smoke"}, "seeds": [0, 1, 2, 3, 4]},
        "grid": {
            "norm.method": ["layer_norm", "none"],
            "training.optimizer.lr": [0.0001, 0.001, 0.01, 0.1],
            "training.batch_size": [8, 16],
        },
    }
    if scripts:
        check_looks(page, LOOKS[:1])
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(page).to_have_url(SWEEP_PAGE)
    sweep = httpx.get(f"{fresh_site.url}/v1/sweeps/{page.url.rpartition('/')[2]}").json()
    assert (sweep["n_experiments"], sweep["n_runs"]) == (16, 80)
    assert sweep["grid"]["training.batch_size"] == [8, 16]


def test_errors_of_a_sweep_stand_at_its_fields(fresh_site: Site, new_page: NewPage) -> None:
    page = new_page(fresh_site)
    page.goto("/submit?profile=smoke")
    field(page, "training.optimizer.lr").fill("1e-4..1e-1")
    expect(page.locator('[id="e-training.optimizer.lr"]')).to_contain_text("Say how many values the range has")
    field(page, "training.optimizer.lr").fill("0.1, -1")
    expect(page.locator('[id="e-training.optimizer.lr"]')).to_contain_text("reater than 0")
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(page.locator("#wrong")).to_be_focused()
    expect(field(page, "training.optimizer.lr")).to_have_value("0.1, -1")


def test_a_sweep_in_the_yaml_fills_the_fields(fresh_site: Site, new_page: NewPage) -> None:
    page = new_page(fresh_site)
    page.goto("/submit")
    body = (
        "spec: {task: {name: permuted_digits, profile: smoke}, seeds: [0, 1]}\n"
        "grid: {norm.method: [none, rms_norm], training.batch_size: [8, 16]}\n"
        "random: {training.optimizer.lr: {log_uniform: [1.0e-4, 1.0e-2]}}\nsamples: 3\n"
    )
    field(page, "yaml").fill(body)
    expect(field(page, "training.batch_size")).to_have_value("8, 16")
    expect(page.get_by_label("rms_norm", exact=True)).to_be_checked()
    expect(page.locator("#first .note")).to_contain_text("This sweep also varies training.optimizer.lr")
    field(page, "training.batch_size").fill("8, 16, 24")
    expect(page.locator("#comes-to .claim")).to_contain_text("18 cells, 36 runs")
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(page).to_have_url(SWEEP_PAGE)
