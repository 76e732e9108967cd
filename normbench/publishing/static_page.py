"""A page of the service, made to work from a disk.

Scripts, forms and controls go. Links to published pages become relative, and links elsewhere on the service become
text. Styles, icons and figures become files. Elements with the attribute ``data-live`` are left out: they mean nothing
without the service.
"""

import posixpath
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from normbench.publishing.elements import Element, parse
from normbench.publishing.sitemap import Key, PublishedPage, key_of

DROPPED = frozenset({"script", "noscript", "input", "select", "textarea", "fieldset", "label", "template"})
DROPPED_CLASSES = frozenset({"command", "bar", "themes", "sign-out", "remove"})
"""Classes of commands for this service, and of controls."""
KEPT_DATA = frozenset({"data-label", "data-theme"})
"""Attributes that styles read. Other ``data-`` attributes are for scripts."""
FIGURE = "data-figure"
"""Attribute with the address of a figure that a script draws."""
EMPTY_WITHOUT_CONTENT = frozenset({"div", "p", "nav", "section", "ul", "form", "span", "li", "noscript"})
DEAD = "unpublished"
"""Class of the text of a link that leads to nothing that is published."""
FORMATS = {"json": "JSON", "csv": "CSV", "latex": "LaTeX", "markdown": "Markdown"}
"""Texts of links to numbers, by format."""
STYLE = "static/published.css"
STYLES = """\
.printed { display: block; max-width: 100%; height: auto; background: #fff; border-radius: 4px; }
.published { columns: 18rem; }
"""


@dataclass(frozen=True)
class Files:
    """Files that pages need, by their place on the service.

    Attributes:
        links: files of published pages, by the keys of their addresses.
        static: function that stores a style sheet or an icon, and returns its file.
        figure: function that stores a figure as SVG, and returns its file; None if the service cannot print it.
        stored_figure: function that returns the file of a figure that is stored already; None if it is not.
    """

    links: Mapping[Key, str]
    static: Callable[[str], str]
    figure: Callable[[str], str | None]
    stored_figure: Callable[[str], str | None]


@dataclass(frozen=True)
class IndexList:
    """List of pages on the index: an id, a title, and the text of each page by its file."""

    id: str
    title: str
    pages: Mapping[str, str]


@dataclass(frozen=True)
class StaticPage:
    """Page to write.

    Attributes:
        page: what the page is, and its file.
        data: files with the page's numbers, by format.
        stamp: sentence on date and version, for the end of the page.
        index: lists of all pages, for the index alone.
    """

    page: PublishedPage
    data: Mapping[str, str]
    stamp: str
    index: Sequence[IndexList] = ()

    def render(self, html: str, files: Files) -> str:
        """Make the static page of a page of the service."""
        root = parse(html)
        place = _Place(self.page.html, urlsplit(self.page.data).path, self.data, files)
        _rewrite(root, place)
        ids = {element.get("id") for element in root.walk()}
        for element in root.walk():
            if element.tag == "a" and element.get("href").startswith("#") and element.get("href")[1:] not in ids:
                element.tag, element.attributes = "span", {"class": DEAD}
            if element.tag == "head":
                link: dict[str, str | None] = {"rel": "stylesheet", "href": relative(STYLE, self.page.html)}
                element.content.append(Element("link", link))
            elif element.tag == "main":
                element.content += [self._card(one) for one in self.index]
            elif "links" in element.classes and "files" not in element.classes:
                element.content += _further_formats(element, place)
            elif element.tag == "footer":
                element.content.append(Element("div", {"class": "wide"}, [self.stamp]))
        return str(root)

    def _card(self, one: IndexList) -> Element:
        """Card with links to published pages."""
        items = [
            Element("li", {}, [Element("a", {"class": "target", "href": relative(file, self.page.html)}, [text])])
            for file, text in one.pages.items()
        ]
        lines = Element("ul", {"class": "published"}, [*items])
        return Element("section", {"class": "card", "id": one.id}, [Element("h2", {}, [one.title]), lines])


@dataclass(frozen=True)
class _Place:
    """Place of a page: its file, the path of its numbers on the service and their files, and the files of others."""

    file: str
    numbers: str
    data: Mapping[str, str]
    files: Files


def relative(target: str, file: str) -> str:
    """Address of a file in the folder, as seen from another file."""
    return posixpath.relpath(target, posixpath.dirname(file) or ".")


def _rewrite(element: Element, place: _Place) -> None:
    """Make the content of an element work without the service. The table of a figure that is missing opens."""
    kept: list[Element | str] = []
    lacks_figure = False
    for part in element.content:
        if isinstance(part, str):
            kept.append(part)
        elif not _is_live(part):
            made = _static(part, place)
            lacks_figure = lacks_figure or (not made and FIGURE in part.attributes)
            if lacks_figure and part.tag == "details":
                part.attributes["open"] = None
                lacks_figure = False
            kept += made
    element.content = kept


def _is_live(element: Element) -> bool:
    """Tell if an element means nothing without the service."""
    opens_menu = element.tag == "button" and "popovertarget" in element.attributes
    return (
        "data-live" in element.attributes
        or element.tag in DROPPED
        or (element.tag == "button" and not opens_menu)
        or bool(element.classes & DROPPED_CLASSES)
        or (element.tag in ("link", "meta") and "plotly" in element.get("id") + element.get("name"))
        or (element.tag == "link" and element.get("rel") not in ("stylesheet", "icon"))
    )


def _static(element: Element, place: _Place) -> list[Element | str]:
    """Static form of an element; nothing if nothing of it is left."""
    if FIGURE in element.attributes:
        return _figure(element, place)
    if element.tag == "a":
        return _link(element, place)
    if element.tag == "link":
        element.attributes["href"] = relative(place.files.static(element.get("href")), place.file)
    had_content = any(isinstance(part, Element) or part.strip() for part in element.content)
    _rewrite(element, place)
    if element.tag == "footer" or "site-menu" in element.classes:
        _drop_dead_links(element)
    if element.tag == "form":
        element.tag = "div"
        for name in ("action", "method", "autocomplete"):
            element.attributes.pop(name, None)
    _drop_data(element)
    is_empty = not any(isinstance(part, Element) or part.strip() for part in element.content)
    if "files" in element.classes and not any(inner.tag == "a" for inner in element.walk()):
        return []
    return [] if had_content and is_empty and element.tag in EMPTY_WITHOUT_CONTENT else [element]


def _drop_data(element: Element) -> None:
    """Remove attributes that only scripts read."""
    for name in [name for name in element.attributes if name.startswith("data-") and name not in KEPT_DATA]:
        del element.attributes[name]


def _figure(element: Element, place: _Place) -> list[Element | str]:
    file = place.files.figure(element.get(FIGURE))
    if file is None:
        return []
    label = element.get("aria-label")
    return [Element("img", {"class": "printed", "src": relative(file, place.file), "alt": label})]


def _link(element: Element, place: _Place) -> list[Element | str]:
    """A link that works from a disk; the text of the link if there is nothing to lead to."""
    _rewrite(element, place)
    _drop_data(element)
    target = _target(element, place)
    if target is not None:
        element.attributes["href"] = target
        return [element]
    in_words = not (element.classes & {"button"} or element.get("href").startswith("/v1/"))
    return [Element("span", {"class": DEAD}, element.content)] if in_words else []


def _drop_dead_links(element: Element) -> None:
    """Remove links of a menu that lead nowhere, which would be loose words there."""
    for inner in element.walk():
        inner.content = [part for part in inner.content if isinstance(part, str) or DEAD not in part.classes]


def _further_formats(element: Element, place: _Place) -> list[Element | str]:
    """Links to files with the page's numbers that a paragraph of links does not have yet."""
    linked = {inner.get("href") for inner in element.walk()}
    targets = {
        text: relative(place.data[format], place.file) for format, text in FORMATS.items() if format in place.data
    }
    return [Element("a", {"href": file}, [text]) for text, file in targets.items() if file not in linked]


def _target(element: Element, place: _Place) -> str | None:
    """Address that a link has in the folder; None if nothing of it is published."""
    href = element.get("href")
    parts = urlsplit(href)
    if parts.scheme in ("http", "https", "mailto"):
        return href
    if parts.scheme or parts.netloc:
        return None
    if not parts.path and not parts.query:
        return href
    of_api = parts.path.startswith("/v1/")
    file = _file_of_data(href, place) if of_api else place.files.links.get(key_of(href))
    if file is None:
        return None
    return relative(file, place.file)  # without the fragment, whose place may be left out


def _file_of_data(address: str, place: _Place) -> str | None:
    """File of the numbers or of the figure at an address of the API; None if it is not in the folder."""
    path, _, query = address.partition("?")
    given = parse_qsl(query)
    format = dict(given).get("format", "json")
    if path == place.numbers:
        return place.data.get(format)
    if format != "svg":
        return None
    return place.files.stored_figure(address.removesuffix("format=svg").rstrip("?&"))
