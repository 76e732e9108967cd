"""The example notebook runs against a service, its stored outputs are those of today, and the site shows it."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

from guide.notebooks import page
from tests.processes import service
from tools.notebook import EXAMPLE, execute

LARGEST = 40_000  # bytes
HEAD = re.compile(r"<th[^>]*>(.*?)</th>", re.DOTALL)


def outputs(notebook: Any) -> Iterator[tuple[str, list[Any]]]:
    """Code and outputs of each cell of code."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            yield cell.source, cell.outputs


def html(output: Any) -> str:
    return str(output.get("data", {}).get("text/html", ""))


@pytest.fixture(scope="module")
def stored() -> Any:
    return nbformat.read(EXAMPLE, as_version=4)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The notebook, run now against a service that trains."""
    folder = tmp_path_factory.mktemp("notebook")
    with service(folder) as running, pytest.MonkeyPatch.context() as environment:
        running.work()
        environment.setenv("NORMBENCH_URL", str(running.http.base_url))
        yield execute(EXAMPLE, folder)


def test_stored_outputs_are_of_the_kinds_and_tables_that_a_run_shows_today(stored: Any, run: Any) -> None:
    """Run ``python -m tools.notebook`` after a change of what the notebook shows."""
    for (code, was), (again, now) in zip(outputs(stored), outputs(run), strict=True):
        assert code == again
        assert [sorted(one.get("data", {"text": ""})) for one in was] == [
            sorted(one.get("data", {"text": ""})) for one in now
        ], code
        heads = [[HEAD.findall(html(one))[:3] for one in of if "rank" in html(one)] for of in (was, now)]
        assert [len(one) for one in heads[0]] == [len(one) for one in heads[1]], code


def test_progress_is_one_line_for_each_experiment_that_ends_with_its_state(run: Any) -> None:
    [shown] = [found for code, found in outputs(run) if "client.wait" in code]
    lines = [one["data"]["text/plain"] for one in shown if one.output_type == "display_data"]
    assert len(lines) == 2
    assert all("succeeded, 3 of 3 runs ended, step 120 of 120" in line for line in lines)
    assert all('<progress value="120" max="120">' in html(one) for one in shown if one.output_type == "display_data")
    assert "layer_norm, succeeded" in html(shown[-1])


def test_a_watch_changes_one_line_in_place(run: Any, tmp_path: Path) -> None:
    """``run`` has left experiments on the service. Their events come again, and each changes the line."""
    cell = nbformat.v4.new_code_cell(
        "from normbench import Client\n"
        "client = Client()\n"
        "for event in client.watch(next(client.experiments())['id']):\n"
        "    pass"
    )
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / "watch.ipynb")
    [(_, shown)] = outputs(execute(tmp_path / "watch.ipynb", tmp_path))
    [line] = shown
    assert line.output_type == "display_data"
    assert "3 of 3 runs ended" in line["data"]["text/plain"]
    assert '<progress value="120" max="120">' in html(line)


def test_answers_show_themselves_once_as_a_table(run: Any) -> None:
    for code, found in outputs(run):
        if code.strip().startswith(("client.dry_run", "board")):
            assert [one.output_type for one in found] == ["execute_result"], code
            assert "spec_version" not in found[0]["data"]["text/plain"], "text of a table, not of a dictionary"


def test_the_file_is_small_and_names_no_folder_of_a_machine() -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    assert len(text) < LARGEST
    assert not re.search(r"/(?:home|root|srv|tmp|dev|work)/|127\.0\.0\.1:\d", text)


def test_the_site_shows_text_code_and_outputs_without_styles(stored: Any) -> None:
    shown = page(EXAMPLE.read_text(encoding="utf-8"), EXAMPLE.name)
    assert shown.startswith("# An example")
    assert f"[{EXAMPLE.name}]({EXAMPLE.name})" in shown
    for code, _ in outputs(stored):
        assert f"```python\n{code}\n```" in shown
    assert shown.count("<table>") >= 5
    assert "style" not in shown
    assert "@misc{ba2016layer," in shown
    assert "succeeded, 3 of 3 runs ended" in shown
    assert re.search(r"^ +measured already +none of these seeds$", shown, re.MULTILINE), "lines stay lines"
    assert all("\n\n" not in block for block in re.findall(r'<div class="output">.*?</div>', shown, re.DOTALL))


def test_an_output_without_html_is_text() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# T"]},
        {"cell_type": "code", "source": "1 < 2", "outputs": [{"data": {"text/plain": ["True"]}}, {"text": ["a\n"]}]},
    ]
    shown = page(json.dumps({"cells": cells}), "x.ipynb")
    assert shown.rstrip().endswith("```python\n1 < 2\n```\n\n```text\nTrue\n```\n\n```text\na\n```")


def test_the_notebook_lies_where_the_page_says(tmp_path: Path) -> None:
    assert EXAMPLE.is_file()
    assert "example.ipynb" in (EXAMPLE.parent / "notebook.md").read_text(encoding="utf-8")
