"""Reference pages are complete and agree with the code."""

import re

import pytest

from guide.reference import PAGES, catalogue, client, command_line, http, settings, spec
from guide.reference.markdown import prose, table
from normbench import Client
from normcore.spec.cells import CELLS
from normcore.spec.methods import METHODS
from normcore.spec.optimizers import OPTIMIZERS
from normcore.spec.tasks import BENCHMARKS
from normcore.variables import CLIENT, SERVICE, WORKERS
from service.catalogue.equations import latex_of


def headings(page: str) -> list[str]:
    return re.findall(r"^#+ (.+)$", page, re.MULTILINE)


@pytest.mark.parametrize("name", PAGES)
def test_each_page_has_a_title_and_no_heading_twice(name: str) -> None:
    page = PAGES[name]()
    assert re.match(r"# \w", page)
    assert len(headings(page)) == len(set(headings(page)))


@pytest.mark.parametrize("kind", [*METHODS.ours.values(), *CELLS.ours.values()], ids=lambda kind: kind.__name__)
def test_each_method_and_cell_has_its_equation(kind: type) -> None:
    assert re.match(r"\$\$.+\$\$", latex_of(kind), re.DOTALL)


def test_the_catalogue_has_every_class_with_its_options_and_source() -> None:
    methods, tasks = catalogue.methods(), catalogue.tasks()
    assert headings(methods)[1:] == list(METHODS.ours)
    assert "arXiv:1607.06450, Eq. 4, 20-22, 26-28" in methods
    assert "| `gain_init` | number | `0.1` | Initial gain at every site (RBN sections 4 and 5: 0.1). |" in methods
    assert set(BENCHMARKS.ours) < set(headings(tasks))
    assert "Published numbers: RBN, Fig. 2; RBN, Table 1." in tasks
    assert headings(catalogue.cells())[1:] == list(CELLS.ours)


def test_metrics_are_listed_with_their_limits() -> None:
    assert re.search(
        r"^\| `accuracy` \| none \| more \| 0 to 1 \| 1 / classes \| .*permuted_digits", catalogue.metrics(), re.M
    )


def test_settings_page_lists_exactly_the_settings_that_are_read() -> None:
    page = settings.page()
    names = re.findall(r"^\| `NORMBENCH_(\w+)` \| .* \| .+ \|$", page, re.MULTILINE)
    assert sorted(names) == sorted((*SERVICE, *WORKERS, *CLIENT))
    assert "| `NORMBENCH_LEASE_SECONDS` | `12` | A run belongs to its worker" in page
    assert "| `NORMBENCH_STAND_BY` | `false` | Under" in page
    assert "| `NORMBENCH_API_KEY` |  | Your key" in page


def test_settings_page_has_the_defaults_of_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in CLIENT:
        monkeypatch.delenv(f"NORMBENCH_{name}", raising=False)
    with Client() as client:
        assert f"| `NORMBENCH_URL` | `{client.url}` | Address" in settings.page()


def test_page_shows_the_resolved_form_of_a_short_spec() -> None:
    page = spec.page()
    assert "  permutation_seed: 0" in page
    assert "| `eval_every` | whole number ≥ 1 and ≤" in page
    assert set(OPTIMIZERS.ours) < set(headings(page))


def test_command_line_page_lists_commands_of_groups() -> None:
    page = command_line.page()
    assert {"normbench up", "normbench data", "normbench data fetch", "normbench keys create"} < set(headings(page))
    assert "`normbench submit FILE…`" in page
    assert re.search(r"^\| `--workers` \| .+ \| `1` \|$", page, re.MULTILINE)


def test_http_page_lists_parameters_and_answers_of_calls() -> None:
    page = http.page()
    call = page.partition("### GET /v1/runs/{run_id}\n")[2].partition("\n### ")[0]
    assert "| `run_id` | path | text |" in call
    anchors = set(re.findall(r"\]\(#(\w+)\)", page))
    assert anchors <= {heading.lower() for heading in headings(page)}


def test_client_page_lists_every_method_with_its_exceptions() -> None:
    page = client.page()
    public = {name for name, method in vars(Client).items() if callable(method) and not name.startswith("_")}
    assert public < set(headings(page))
    assert "- `Conflict`: the key was used with another spec." in page
    assert {"Unreachable", "NotFound", "Measured"} < set(headings(page))


def test_text_stays_in_one_cell_without_tags() -> None:
    assert table(("a", "b"), [("x | y", "two\nlines")]) == "| a | b |\n|---|---|\n| x \\| y | two lines |"
    assert table(("a",), []) == ""
    assert prose("Give ``<id>`` or <none>.") == "Give `<id>` or &lt;none&gt;."
