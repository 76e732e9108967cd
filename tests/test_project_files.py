"""Project files agree with the code: targets of make, hooks, licence, and links and words in documents."""

import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from normcore.bibliography import SOFTWARE
from tests.documents import DOCUMENTS, FENCE, name_of
from tests.slow import FOLDERS as SLOW_FOLDERS
from tests.slow import LONGEST, MODULES

ROOT = Path(__file__).parent.parent
MAKEFILE = (ROOT / "Makefile").read_text()
LINK = re.compile(r"""(?:\]\(|\b(?:src|href)=["']?)([^)"'\s>]+)""")
REFERENCE = re.compile(r"\[([^\[\]]*)\]\[([^\[\]]*)\]")
"""Link by a name that is defined elsewhere in the text."""
DEFINITION = re.compile(r"^ {0,3}\[([^\[\]^][^\[\]]*)\]: *(\S+)", re.MULTILINE)
GENERATED = "docs/reference"  # by make guide
FOLDERS = {path.name for path in ROOT.iterdir() if path.is_dir()}
TO_BE_WRITTEN = {  # by a reader of docs/extend/method.md and cell.md, and by make guide
    "service/pages/built_guide/index.html",
    "tests/normcore/norms/test_scale_norm.py",
    "tests/normcore/cells/test_mgu.py",
}
WORDS = (
    *("task", "profile", "method", "cell", "model", "place", "spec", "fingerprint", "setting", "problem", "budget"),
    *("experiment", "run", "sweep", "measurement", "entry", "lease", "attempt", "claim", "notification"),
    *("executor", "summed inputs", "gain", "shift", "population statistics", "checkpoint", "artifact", "finding"),
)


def test_make_alone_lists_every_target_with_what_it_does() -> None:
    (targets,) = re.findall(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)
    printed = subprocess.run(["make", "--silent"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    listed = dict(re.findall(r"^make (\w+) +(\S.*)$", printed, re.MULTILINE))
    assert len(listed) == len(printed.splitlines())
    assert sorted(listed) == sorted(targets.split())
    assert listed["test"] == "the whole test suite"


def test_a_silent_installation_says_first_what_happens_and_how_long_it_takes() -> None:
    command = ["make", "--no-print-directory", "--dry-run", "--always-make", "demo"]
    lines = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    [pip] = [k for k, line in enumerate(lines) if "pip install --quiet" in line]
    said = subprocess.run(["sh", "-c", lines[pip - 1]], capture_output=True, text=True, check=True).stdout
    assert said == "Installing normbench and torch into .venv. This takes 1 to 10 minutes, and pip prints nothing.\n"
    assert lines[pip + 1 :] == ["touch .venv/.installed", ".venv/bin/normbench demo"]


def test_hooks_run_what_make_lint_runs() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert [repository["repo"] for repository in hooks] == ["local"]  # hooks download nothing
    entries = [hook["entry"].replace(" --force-exclude", "") for hook in hooks[0]["hooks"]]
    (lint,) = re.findall(r"^lint:.*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)
    assert entries == [line.strip().replace("$(BIN)", ".venv/bin").removesuffix(" .") for line in lint.splitlines()]


def test_the_licence_goes_into_packages_and_image() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert (project["license"], project["license-files"]) == ("MIT", ["LICENSE"])
    assert (ROOT / "LICENSE").read_text().startswith("MIT License\n\nCopyright (c) 2026 normbench authors\n")
    assert re.search(r"^COPY .*\bLICENSE\b", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert "!LICENSE" in (ROOT / ".dockerignore").read_text().splitlines()


def test_the_citation_file_says_what_package_and_licence_say() -> None:
    """`normbench cite` prints the same title, author and version."""
    cff = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert (cff["version"], cff["license"]) == (project["version"], project["license"])
    assert cff["title"] == SOFTWARE.title
    assert SOFTWARE.title.casefold() == f"normbench: {project['description']}".casefold()
    assert cff["authors"] == [{"name": SOFTWARE.organization}]
    assert f"Copyright (c) {SOFTWARE.year} {SOFTWARE.organization}\n" in (ROOT / "LICENSE").read_text()


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_every_path_named_in_documents_exists(document: Path) -> None:
    """A path is a text in backquotes that begins with a folder of ours; ``<tag>`` matches any name."""
    quoted = re.findall(r"`([^`\s]+)`", document.read_text())
    paths = [path for path in quoted if path.partition("/")[0] in FOLDERS and "/" in path]
    missing = [path for path in paths if not any(ROOT.glob(re.sub("<.*?>", "*", path.rstrip("/"))))]
    assert set(missing) <= TO_BE_WRITTEN


def test_paths_are_found_in_documents() -> None:
    """Otherwise the test above would test nothing."""
    for document, path in (("README.md", "service/settings.py"), ("CONTRIBUTING.md", "tests/slow.py")):
        assert f"`{path}`" in (ROOT / document).read_text()
    assert {"normcore", "service", "tests", "docs", ".ci"} <= FOLDERS


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_links_of_documents_have_targets(document: Path) -> None:
    """A strict build checks the links to generated pages. It does not check links in HTML."""
    found = broken_links(document.parent, document.read_text(encoding="utf-8"))
    assert [link for link in found if not (document.parent / link).resolve().is_relative_to(ROOT / GENERATED)] == []


def broken_links(folder: Path, text: str) -> Iterator[str]:
    """Links of a text in ``folder`` to a missing file, a missing heading of a Markdown file, or an undefined name."""
    text = FENCE.sub("", text)
    without_code = re.sub(r"`[^`]*`", "", text)
    defined = {name.lower(): link for name, link in DEFINITION.findall(without_code)}
    for link in [*LINK.findall(without_code), *defined.values()]:
        path, _, anchor = link.partition("#")
        target = folder / path
        if re.match(r"\w+:", link):
            continue
        if not target.exists():
            yield link
        elif anchor:
            found = FENCE.sub("", target.read_text(encoding="utf-8")) if path else text
            if anchor not in {anchor_of(heading) for heading in re.findall(r"^#+ (.+)$", found, re.MULTILINE)}:
                yield link
    for shown, name in REFERENCE.findall(without_code):
        if (name or shown).lower() not in defined:
            yield f"[{shown}][{name}]"


def anchor_of(heading: str) -> str:
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def test_broken_link_is_found() -> None:
    text = (
        "# A title, with `code`\n[a](#a-title-with-code) [b](#b) [c](README.md) [d](README.md#two-commands)"
        " [e](README.md#three-commands) [f](NOTHING.md) [g](https://example.org/nothing) [h](examples)"
        ' <img src="docs/pictures/nothing.png" alt="h">'
        " <a href='docs/nothing.md'>i</a> <a href=README.md>j</a> `<a href='k'> a[0][1]`"
        " [l][defined] [Defined][] [m][undefined] [n][] [`p`][q]\n\n[defined]: README.md\n[o]: docs/none.md\n"
    )
    assert list(broken_links(ROOT, text)) == [
        "#b",
        "README.md#three-commands",
        "NOTHING.md",
        "docs/pictures/nothing.png",
        "docs/nothing.md",
        "docs/none.md",
        "[m][undefined]",
        "[n][]",
        "[][q]",
    ]


def test_the_glossary_has_each_word_once() -> None:
    rows = re.findall(r"^\| (\*\*.*?) \| (.+) \|$", (ROOT / "docs/develop/glossary.md").read_text(), re.MULTILINE)
    words = [word for head, _ in rows for word in re.findall(r"\*\*(.+?)\*\*", head)]
    assert len(words) == len(set(words))
    assert set(WORDS) <= set(words)
    assert all(meaning.endswith((".", ".)")) for _, meaning in rows)


@pytest.mark.parametrize("name", sorted({*MODULES, *LONGEST, *SLOW_FOLDERS}))
def test_tests_that_are_named_slow_exist(name: str) -> None:
    assert (ROOT / "tests" / name).exists()
