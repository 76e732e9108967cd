"""A strict build of the site fails on broken links and missing titles."""

import os
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]


def test_broken_link_and_page_without_a_title_fail_the_build(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "index.md").write_text(
        "# First\n\n[nowhere](nowhere.md) [no anchor](untitled.md#nothing) [outside](../nothing.py)"
        " [named](../licence.txt)\n"
    )
    (docs / "untitled.md").write_text("Text without a title.\n")
    (tmp_path / "licence.txt").write_text("outside of the site, and there")
    config = {
        "INHERIT": str(ROOT / "mkdocs.yml"),
        "docs_dir": str(docs),
        "site_dir": str(tmp_path / "site"),
        "hooks": [str(ROOT / "guide/hooks.py")],
        "nav": ["index.md", "untitled.md"],
    }
    (tmp_path / "mkdocs.yml").write_text(yaml.safe_dump(config))
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(tmp_path / "mkdocs.yml")],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    for told in (
        "contains a link 'nowhere.md', but the target is not found",
        "contains a link '../nothing.py', but the target is not found",
        "contains a link 'untitled.md#nothing', but the doc 'untitled.md' does not contain an anchor '#nothing'",
        "untitled.md has no title; begin it with a line '# Title'",
    ):
        assert told in done.stderr
    assert "licence.txt" not in done.stderr
