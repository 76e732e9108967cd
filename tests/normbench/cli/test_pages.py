"""Pages in a browser, from the command line."""

import json
import stat
from pathlib import Path

import pytest

from normbench.cli.pages import path_of
from tests.normbench.cli.commands import SECONDS, command_process, from_json, normbench


@pytest.mark.parametrize(
    ("what", "profile", "path"),
    [
        (None, None, "/"),
        ("exp_01KAJ3V1Z8Q4N7M2X5C6B9D0EF", None, "/experiments/exp_01KAJ3V1Z8Q4N7M2X5C6B9D0EF"),
        ("run_01KAJ3V1Z8Q4N7M2X5C6B9D0EF", None, "/runs/run_01KAJ3V1Z8Q4N7M2X5C6B9D0EF"),
        ("swp_01KAJ3V1Z8Q4N7M2X5C6B9D0EF", None, "/sweeps/swp_01KAJ3V1Z8Q4N7M2X5C6B9D0EF"),
        ("exp_/../x", None, "/experiments/exp_%2F..%2Fx"),
        ("permuted_mnist", None, "/boards/permuted_mnist"),
        ("permuted_mnist", "paper", "/boards/permuted_mnist?profile=paper"),
        ("layer_norm", None, "/methods/layer_norm"),
        ("invariances", None, "/tasks/invariances"),
    ],
)
def test_each_argument_of_open_has_its_page(what: str | None, profile: str | None, path: str) -> None:
    assert path_of(what, profile) == path


def test_a_name_without_a_page_is_refused_with_the_closest_name() -> None:
    assert "did you mean 'permuted_mnist'" in normbench("open", "permuted_mnits", status=2)
    assert "name the task" in normbench("open", "layer_norm", "--profile", "paper", status=2)


@pytest.mark.parametrize("unknown", ["exp_nope", "run_nope", "swp_nope"])
@pytest.mark.usefixtures("api")
def test_an_id_that_the_service_does_not_know_is_not_opened(unknown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROWSER", "false %s")
    assert unknown in normbench("open", unknown, status=2)


@pytest.mark.usefixtures("api")
def test_the_page_of_an_experiment_is_opened(spec_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROWSER", "true %s")
    made = from_json("submit", spec_file)
    assert normbench("open", made["id"]).strip().endswith(f"/experiments/{made['id']}")


def test_the_browser_is_opened_and_the_address_printed(tmp_path: Path) -> None:
    browser, seen = tmp_path / "browser", tmp_path / "seen"
    browser.write_text(f'#!/bin/sh\necho "$1" > "{seen}"\n')
    browser.chmod(browser.stat().st_mode | stat.S_IXUSR)
    environment = {"BROWSER": f"{browser} %s", "NORMBENCH_URL": "http://127.0.0.1:8765"}
    process = command_process(environment, "open", "permuted_mnist", "--json")
    output, complaints = process.communicate(timeout=SECONDS)
    url = "http://127.0.0.1:8765/boards/permuted_mnist"
    assert json.loads(output) == {"url": url, "opened": True}, complaints
    assert seen.read_text().strip() == url
