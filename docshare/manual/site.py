"""The pages of the manual: their addresses, their contents, and the index that their search reads.

All links are relative, so that the pages work at any address and as files.
"""

import json
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from docshare.contract.problems import PROBLEMS
from docshare.manual.operations import ApiDescription, FieldRow, OperationPage

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
"""The policy of every page, also written into it, because files have no headers."""

_HERE = Path(__file__).parent
_DESIGN = _HERE.parent / "server" / "web" / "static"  # the design of the share pages, part of the server package
_INDEX = "assets/search-index.js"
_ASSETS = {
    "assets/manual.css": _HERE / "static" / "manual.css",
    "assets/search.js": _HERE / "static" / "search.js",
    "assets/design.css": _DESIGN / "design.css",
    "assets/icon.svg": _DESIGN / "icon.svg",
    **{f"assets/fonts/{path.name}": path for path in sorted((_DESIGN / "fonts").iterdir())},
}
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
}
# "docshare help TOPIC" and "docshare files list" in a sentence become links.
_COMMAND_IN_TEXT = re.compile(r"\bdocshare((?: [a-z][a-z-]*)+)")
_WORD = re.compile(r"[a-z0-9@_][\w.-]+")


@dataclass(frozen=True)
class PageEntry:
    """One page: its ``path`` in the site, ``section`` (topics, commands or api), and ``words`` for the search."""

    path: str
    section: str
    title: str
    summary: str
    template: str
    facts: Mapping[str, Any]
    words: str = ""


class ManualSite:
    """The whole site. ``entries``: its pages by path; files are read, and pages rendered, when they are asked for."""

    def __init__(self) -> None:
        data = json.loads((_HERE / "reference.json").read_text(encoding="utf-8"))
        self.topics: list[dict[str, Any]] = data["topics"]
        self.samples: dict[str, str] = data["samples"]
        self.commands: dict[tuple[str, ...], dict[str, Any]] = {tuple(row["path"]): row for row in data["commands"]}
        self.api = ApiDescription()
        self._topic_names = {row["name"] for row in self.topics}
        self.entries = {entry.path: entry for entry in self._list_entries()}

    @property
    def paths(self) -> list[str]:
        """Return the paths of all files of the site."""
        return [*self.entries, *_ASSETS, _INDEX]

    def render(self, path: str) -> bytes:
        """Return the bytes of the file ``path``. Raises KeyError if the site does not have it."""
        if path in _ASSETS:
            return _ASSETS[path].read_bytes()
        if path == _INDEX:
            return self._render_index().encode()
        entry = self.entries[path]
        root = "../" * path.count("/")
        values = {
            "site": self, "entry": entry, "root": root, "policy": POLICY, "problems": PROBLEMS,
            "link_text": lambda text: self._link_text(str(text), root), **entry.facts,
        }  # fmt: skip
        return _templates().get_template(entry.template).render(values).encode()

    def find_command(self, path: Iterable[str]) -> Mapping[str, Any]:
        """Return the data of the command ``path``."""
        return self.commands[tuple(path)]

    def list_neighbors(self, entry: PageEntry) -> Iterator[tuple[str, str, int]]:
        """Yield path, title and depth of the pages that the navigation beside ``entry`` lists."""
        if entry.section == "topics":
            yield from ((topic_path(row["name"]), row["name"], 0) for row in self.topics)
        elif entry.section == "commands":
            shown: tuple[str, ...] = entry.facts["command"]["path"] if "command" in entry.facts else ()
            yield from self._list_commands((), tuple(shown))
        else:
            for noun in self.api.nouns:
                yield "", noun, 0
                yield from ((operation_path(row), row.name, 1) for row in self.api.operations if row.noun == noun)
            yield "", "reference", 0
            yield from (("api/types.html", "types", 1), ("api/problems.html", "problems", 1))

    def _list_commands(self, above: tuple[str, ...], shown: tuple[str, ...]) -> Iterator[tuple[str, str, int]]:
        for name in self.commands[above]["children"]:
            path = (*above, name)
            yield command_path(path), name, len(above)
            if shown[: len(path)] == path:
                yield from self._list_commands(path, shown)

    def _list_entries(self) -> Iterator[PageEntry]:
        yield PageEntry("index.html", "", "docshare", "The manual of docshare.", "index.html", {})
        for row in self.topics:
            yield PageEntry(
                topic_path(row["name"]), "topics", row["name"], row["summary"], "topic.html", {"topic": row},
                _collect_words(row["summary"], *_list_texts(row["blocks"])),
            )  # fmt: skip
        for path, row in self.commands.items():
            words = _collect_words(row["summary"], *row["text"], *row["examples"], *_list_texts(row["options"]))
            title = " ".join(("docshare", *path))
            yield PageEntry(
                command_path(path), "commands", title, row["summary"], "command.html", {"command": row}, words
            )
        for operation in self.api.operations:
            fields = [*operation.parameters, *(field for body in operation.bodies for field in body.fields)]
            texts = (operation.method, operation.path, operation.summary, operation.text)
            words = _collect_words(*texts, *_list_names(fields))
            yield PageEntry(
                operation_path(operation), "api", operation.name, operation.summary, "operation.html",
                {"operation": operation}, words,
            )  # fmt: skip
        yield PageEntry(
            "api/types.html", "api", "types", "The types of bodies of the API.", "types.html", {},
            _collect_words(*(name for row in self.api.types for name in (row.name, *_list_names(row.fields)))),
        )  # fmt: skip
        yield PageEntry(
            "api/problems.html", "api", "problems", "The problem codes of the API.", "problems.html", {},
            _collect_words(*(f"{code} {row.status} {row.title}" for code, row in PROBLEMS.items())),
        )  # fmt: skip

    def _render_index(self) -> str:
        """Return the script with the search index: path, section, title, summary and words of each page."""
        rows = [
            [entry.path, entry.section, entry.title, entry.summary, entry.words]
            for entry in self.entries.values()
            if entry.section
        ]
        return f"var docshareIndex = {json.dumps(rows, ensure_ascii=False, separators=(',', ':'))};\n"

    def _link_text(self, text: str, root: str) -> Markup:
        """Return ``text`` escaped, with links to the topics and commands that it names."""
        parts, end = [], 0
        for match in _COMMAND_IN_TEXT.finditer(text):
            path, length = self._find_page(match[1].split())
            if not path:
                continue
            words = " ".join(match[0].split(" ")[: length + 1])
            parts += [escape(text[end : match.start()]), Markup('<a href="{}">{}</a>').format(root + path, words)]
            end = match.start() + len(words)
        return Markup().join([*parts, escape(text[end:])])

    def _find_page(self, words: list[str]) -> tuple[str, int]:
        """Return the page that ``words`` name, and how many of them name it."""
        if words[0] == "help" and len(words) > 1 and words[1] in self._topic_names:
            return topic_path(words[1]), 2
        for length in range(len(words), 0, -1):
            if tuple(words[:length]) in self.commands:
                return command_path(words[:length]), length
        return "", 0


@cache
def load_site() -> ManualSite:
    """Return the site; it is the same for everybody and kept in memory, without its rendered pages."""
    return ManualSite()


def media_type(path: str) -> str:
    """Return the media type of the file ``path`` of the site."""
    return _TYPES[posixpath.splitext(path)[1]]


def topic_path(name: str) -> str:
    """Return the path of the page of a topic."""
    return f"topics/{name}.html"


def command_path(words: Iterable[str]) -> str:
    """Return the path of the page of a command; ``words``: those after ``docshare``."""
    return f"commands/{'-'.join(('docshare', *words))}.html"


def operation_path(operation: OperationPage) -> str:
    """Return the path of the page of an operation of the API."""
    return f"api/{operation.name}.html"


def _list_names(fields: Iterable[FieldRow]) -> Iterator[str]:
    return (field.name for field in fields)


def _list_texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            if key != "kind":
                yield from _list_texts(each)
    elif isinstance(value, Iterable):
        for each in value:
            yield from _list_texts(each)


def _collect_words(*texts: str) -> str:
    """Return the different words of ``texts`` of three letters and more, in order."""
    found = (word.strip(".-") for text in texts for word in _WORD.findall(text.lower()))
    return " ".join(sorted({word for word in found if len(word) > 2}))


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        "topic_path": topic_path,
        "command_path": command_path,
        "operation_path": operation_path,
    }
    return environment
