"""Hooks of this site, called by MkDocs. A warning from a hook ends a strict build."""

import logging
import re
from pathlib import Path, PurePosixPath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from guide import notebooks
from guide.formulas import typeset
from guide.reference import PAGES

LOG = logging.getLogger("mkdocs.plugins.guide")  # MkDocs counts warnings of loggers below its own name
LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]+)\]\((?P<path>(?:\.\./)+[^)#\s]+)(?:#[^)]*)?\)")
TITLE = re.compile(r"^# \S", re.MULTILINE)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated reference pages to the site, and a page for each notebook."""
    for name, write in PAGES.items():
        files.append(File.generated(config, f"reference/{name}.md", content=write()))
    for file in [file for file in files if file.src_uri.endswith(".ipynb")]:
        content = notebooks.page(file.content_string, PurePosixPath(file.src_uri).name)
        files.append(File.generated(config, file.src_uri.removesuffix("ipynb") + "md", content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Warn of a page without a title, and replace links to files outside of the site by paths in the repository."""
    if not TITLE.search(markdown):
        LOG.warning("%s has no title; begin it with a line '# Title'", page.file.src_uri)
    docs = Path(config.docs_dir)
    folder = (docs / page.file.src_uri).parent
    return LINK.sub(lambda found: _named(found, folder, docs), markdown)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Typeset the formulas of a page."""
    return typeset(html)


def _named(found: re.Match[str], folder: Path, docs: Path) -> str:
    target = (folder / found["path"]).resolve()
    if target.is_relative_to(docs) or not target.exists():  # MkDocs warns of files that do not exist
        return found[0]
    return f"{found['text']} (`{target.relative_to(docs.parent)}`)"
