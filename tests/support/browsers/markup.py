"""Parse HTML into elements with their attributes and text."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

_VOID_TAGS = {"meta", "link", "img", "br", "input", "hr"}


@dataclass
class HtmlElement:
    """One element; ``words``: its text with folded white space."""

    tag: str
    attrs: dict[str, str]
    parts: list[str] = field(default_factory=list)
    nodes: list[HtmlElement] = field(default_factory=list)

    @property
    def words(self) -> str:
        return " ".join("".join(self.parts).split())

    def find_all(self, tag: str = "", **attrs: str) -> list[HtmlElement]:
        """Return every element inside with that tag and attributes; ``class_`` matches one of several classes."""
        return [node for node in self.nodes if (not tag or node.tag == tag) and node.matches(**attrs)]

    def find_one(self, tag: str = "", **attrs: str) -> HtmlElement:
        """Return the only matching element."""
        (found,) = self.find_all(tag, **attrs)
        return found

    def matches(self, class_: str = "", **attrs: str) -> bool:
        classes = self.attrs.get("class", "").split()
        return (not class_ or class_ in classes) and all(self.attrs.get(key) == value for key, value in attrs.items())


class _HtmlReader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = HtmlElement("", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = HtmlElement(tag, {key: value or "" for key, value in attrs})
        for outer in self.open:
            outer.nodes.append(node)
        if tag not in _VOID_TAGS:
            self.open.append(node)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID_TAGS:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        for outer in self.open:
            outer.parts.append(data)


def parse_html(html: str) -> HtmlElement:
    """Return the document; every element must be closed where it should be."""
    reader = _HtmlReader()
    reader.feed(html)
    reader.close()
    assert reader.open == [reader.root], f"<{reader.open[-1].tag}> is not closed"
    return reader.root
