"""Publication of a service's boards, comparisons and report cards as static pages."""

import hashlib
import posixpath
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from typing import get_args
from urllib.parse import urlsplit

from normbench.client import Client
from normbench.errors import NormbenchError, Unauthorized, Unavailable, Unreachable
from normbench.publishing.sitemap import PublishedPage, Section, key_of, links, sitemap
from normbench.publishing.static_page import STYLE, STYLES, Files, IndexList, StaticPage

TITLES: Mapping[Section, str] = {
    "overall": "All boards together",
    "boards": "Boards",
    "comparisons": "Comparisons of the best entries",
    "reproductions": "Reproductions: claims of papers, and what was found here",
}
SUFFIXES = {"json": "json", "csv": "csv", "latex": "tex", "markdown": "md"}
"""Suffix of the file of a page's numbers, by format."""
ALWAYS = frozenset({"json", "csv"})
"""Formats that every service has."""
MENU: Mapping[Section, str] = {"comparisons": "/compare", "reproductions": "/methods"}
"""Address of the menu that leads to a list of the index."""
WIDTH = "5in"  # of a printed figure, which a narrow window makes smaller
LONGEST_NAME = 100  # characters of the name of a file

Progress = Callable[[int, int], None]


class Publication:
    """Files of a publication, as they are fetched.

    Attributes:
        files: content by path in the folder.
        pages: the pages that were published.
        left_out: reasons why pages were left out, by their titles.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._prints_figures = True
        self._names: dict[str, str] = {}
        self._figures: dict[str, str] = {}
        self.files: dict[str, bytes] = {}
        self.pages: list[PublishedPage] = []
        self.left_out: dict[str, str] = {}
        self.moment = datetime.now(UTC)

    @property
    def stamp(self) -> str:
        """Sentence on date and version."""
        return f"Published {self.moment:%Y-%m-%d %H:%M} UTC, from normbench {version('normbench')}"

    def fetch(self, progress: Progress) -> None:
        """Fetch all pages with their numbers and figures.

        Args:
            progress: function that is told how many pages are done, of how many.

        Raises:
            NormbenchError: the service is away, or refuses the key.
        """
        wanted = sitemap(self._client)
        found: list[tuple[PublishedPage, str, Mapping[str, str]]] = []
        for k, page in enumerate(wanted):
            progress(k, len(wanted))
            try:
                html = self._client.content(page.address).decode()
                found.append((page, html, self._data(page)))
            except (Unauthorized, Unavailable, Unreachable):
                raise
            except NormbenchError as refusal:
                self.left_out[f"{TITLES[page.section]}: {page.title}"] = str(refusal)
        self.pages = [page for page, _, _ in found]
        lists = self._index()
        menu = {
            key_of(MENU[section]): f"index.html#{section}"
            for section in MENU
            if any(one.id == section for one in lists)
        }
        files = Files({**links(self.pages), **menu}, self._static, self._figure, self._figures.get)
        self.files[STYLE] = STYLES.encode()
        for page, html, data in found:
            static = StaticPage(page, data, self.stamp, lists if page.file == "index" else ())
            self.files[page.html] = static.render(html, files).encode()
        progress(len(wanted), len(wanted))

    def _index(self) -> list[IndexList]:
        """Lists of the index. The only page of all boards is the index itself."""
        sections: tuple[Section, ...] = get_args(Section)
        lists = [
            IndexList(
                section, TITLES[section], {page.html: page.title for page in self.pages if page.section == section}
            )
            for section in sections
        ]
        return [one for one in lists if len(one.pages) > (one.id == "overall")]

    def _data(self, page: PublishedPage) -> dict[str, str]:
        """Store the page's numbers in all formats that the service has; return their files."""
        stored = {}
        for format, suffix in SUFFIXES.items():
            joint = "&" if "?" in page.data else "?"
            address = page.data if format == "json" else f"{page.data}{joint}format={format}"
            try:
                content = self._client.content(address)
            except (Unauthorized, Unavailable, Unreachable):
                raise
            except NormbenchError:
                if format in ALWAYS:
                    raise
                continue
            self.files[f"{page.file}.{suffix}"] = content
            stored[format] = f"{page.file}.{suffix}"
        return stored

    def _static(self, address: str) -> str:
        """Store a style sheet or an icon, and return its file."""
        return self._stored(address, f"static/{posixpath.basename(urlsplit(address).path)}")

    def _figure(self, address: str) -> str | None:
        """Store a figure as SVG, and return its file; None if the service cannot print it."""
        if not self._prints_figures:
            return None
        name = posixpath.basename(urlsplit(address).path)[:LONGEST_NAME]
        digest = hashlib.sha256(address.encode()).hexdigest()[:12]
        try:
            printed = f"{address}{'&' if '?' in address else '?'}format=svg&width={WIDTH}"
            self._figures[address] = self._stored(printed, f"figures/{name}-{digest}.svg")
        except (Unauthorized, Unavailable, Unreachable):
            raise
        except NormbenchError:
            self._prints_figures = False
        return self._figures.get(address)

    def _stored(self, address: str, file: str) -> str:
        if address not in self._names:
            self.files[file] = self._client.content(address)
            self._names[address] = file
        return self._names[address]
