"""HTML as a tree of elements, read by a parser and written again with all text escaped."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from html.parser import HTMLParser

VOID = frozenset(
    {
        *("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"),
        *("path", "rect", "circle", "line"),  # of SVG, which our pages write without content
    }
)
"""Elements without content."""
DOCTYPE = "<!doctype html>\n"
RAW = frozenset({"script", "style"})


@dataclass
class Element:
    """Element with its attributes and its content: elements and texts."""

    tag: str
    attributes: dict[str, str | None] = field(default_factory=dict)
    content: "list[Element | str]" = field(default_factory=list)

    def get(self, name: str) -> str:
        """Value of an attribute; empty if it is missing."""
        return self.attributes.get(name) or ""

    @property
    def classes(self) -> set[str]:
        return set(self.get("class").split())

    def walk(self) -> "Iterator[Element]":
        """Yield the element and all elements in it."""
        yield self
        for part in self.content:
            if isinstance(part, Element):
                yield from part.walk()

    def text(self) -> str:
        """Text of the element and of all elements in it."""
        return "".join(part if isinstance(part, str) else part.text() for part in self.content)

    def __str__(self) -> str:
        if self.tag == "":
            return DOCTYPE + self._inside().lstrip()
        given = "".join(f" {k}" if v is None else f' {k}="{escape(v)}"' for k, v in self.attributes.items())
        end = "" if self.tag in VOID and not self.content else f"{self._inside()}</{self.tag}>"
        closed = "/" if not end and self.tag in ("path", "rect", "circle", "line") else ""
        return f"<{self.tag}{given}{closed}>{end}"

    def _inside(self) -> str:
        return "".join(
            str(part) if isinstance(part, Element) else part if self.tag in RAW else escape(part, quote=False)
            for part in self.content
        )


def parse(html: str) -> Element:
    """Read a document. The result has an empty tag, and the elements of the document as its content."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return reader.root


class _Reader(HTMLParser):
    """Builder of a tree. It closes open elements that an end tag leaves open."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("")
        self._open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        made = Element(tag, dict(attrs))
        self._open[-1].content.append(made)
        if tag not in VOID:
            self._open.append(made)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open[-1].content.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if any(element.tag == tag for element in self._open[1:]):
            while self._open.pop().tag != tag:
                pass

    def handle_data(self, data: str) -> None:
        self._open[-1].content.append(data)
