"""A YAML file as plain values that know their lines, and a list of everything that is wrong with it.

Nothing in it is made into an object, nothing grows without bound, and no key stands twice.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from docshare.cli.framework.exits import ExitCode, Stop
from docshare.contract.problems import Problem

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context

MAX_BYTES = 256 * 1024
_MAX_NODES = 20_000  # with every alias counted as often as it is used
_MAX_DEPTH = 20
_MAX_REPORTED = 20
_MAX_VALUE_CHARS = 40  # characters of a strange value
_TAG = "tag:yaml.org,2002:"
_MERGE = f"{_TAG}merge"
_SURROGATE = re.compile(r"[\ud800-\udfff]")  # no text in UTF-8 can hold it
_SCALAR_TAGS = {f"{_TAG}{name}" for name in ("str", "int", "float", "bool", "null", "timestamp")}


class YamlNode(NamedTuple):
    """A value and its ``line`` (from 1): a dict of Nodes by key, a list of Nodes, or a scalar. ``text``: a scalar as it
    is written; dates are kept as texts."""

    value: Any
    line: int
    text: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether nothing stands there at all, not even ``null``."""
        return self.value is None and not self.text

    def plain(self) -> Any:
        """The value without its lines, as JSON has it."""
        if isinstance(self.value, dict):
            return {key: each.plain() for key, each in self.value.items()}
        if isinstance(self.value, list):
            return [each.plain() for each in self.value]
        return self.value


class ParseErrors:
    """What is wrong with the file at ``path``: all of it is found before any of it is told."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._found: list[tuple[int, str, str]] = []

    def add(self, line: int, detail: str, hint: str = "") -> None:
        """Note one mistake."""
        self._found.append((line, detail, hint))

    @contextmanager
    def at(self, line: int) -> Iterator[None]:
        """What is refused inside is noted for ``line``."""
        try:
            yield
        except (Stop, Problem) as error:
            self.add(line, error.detail, error.hint if isinstance(error, Stop) else "")

    def only(self, node: YamlNode, known: Iterable[str], what: str) -> Mapping[str, YamlNode] | None:
        """The entries of a mapping, None for another kind of value; noted are that, and keys that are not ``known``."""
        if not isinstance(node.value, dict):
            self.add(node.line, f"{what} must be a mapping (key: value)")
            return None
        names = tuple(known)
        for key, value in node.value.items():
            if key not in names:
                self.add(value.line, f"{what} has no key {key!r}", _suggest_key(key, names))
        return {key: value for key, value in node.value.items() if key in names}

    def items(self, node: YamlNode | None, what: str) -> list[YamlNode]:
        """The entries of a list; noted is another kind of value."""
        if node is None:
            return []
        if not isinstance(node.value, list):
            self.add(node.line, f"{what} must be a list (lines that begin with '-')")
            return []
        return node.value

    def text(self, node: YamlNode | None, what: str) -> str | None:
        """A text as it is written, None where there is none; noted is an empty one, or another kind of value."""
        if node is None:
            return None
        if isinstance(node.value, dict | list) or not node.text.strip():
            self.add(node.line, f"{what} must be a text")
            return None
        return node.text

    def switch(self, node: YamlNode | None, what: str) -> bool | None:
        """True or false, None where nothing stands; noted is another kind of value."""
        if node is None or isinstance(node.value, bool):
            return None if node is None else node.value
        self.add(node.line, f"{what} must be true or false")
        return None

    def refuse(self, context: "Context") -> None:
        """Stop (2) if there are any, after telling each with its line."""
        if not self._found:
            return
        found = sorted(self._found, key=lambda each: each[0])
        line, detail, hint = found[0]
        if len(found) == 1:
            raise self._stop(f"{self._path}:{line}: {detail}", hint)
        for line, detail, hint in found[:_MAX_REPORTED]:
            context.err(f"error: {self._path}:{line}: {detail}" + (f" ({hint})" if hint else ""), "error")
        raise self._stop(f"{len(found)} mistakes in {self._path}; nothing was sent")

    def _stop(self, detail: str, hint: str = "") -> Stop:
        return Stop(ExitCode.USAGE, detail, hint=hint, code="local_file")


def _suggest_key(key: str, names: Iterable[str]) -> str:
    near = get_close_matches(key, names, n=1)
    return f"Did you mean {near[0]}?" if near else f"Known: {', '.join(names)}."


def read_yaml(path: Path) -> YamlNode:
    """The file at ``path``. Stop (2) if it cannot be read, is no YAML, or is built to exhaust its reader."""
    import yaml

    class Loader(yaml.SafeLoader):
        depth = 0

        def compose_node(self, parent: Any, index: Any) -> Any:
            self.depth += 1
            if self.depth > _MAX_DEPTH:
                mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
                raise yaml.MarkedYAMLError(problem="this is too deep", problem_mark=mark)
            try:
                return super().compose_node(parent, index)
            finally:
                self.depth -= 1

    text = _read_text(path)
    try:
        root = yaml.compose(text, Loader=Loader)
        if root is None:
            raise Stop(ExitCode.USAGE, f"{path} is empty", code="local_file")
        return _NodeConverter(path).node(root)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        raise Stop(ExitCode.USAGE, f"{where}: {error.problem or error.context}", code="local_file") from None
    except yaml.YAMLError as error:
        raise Stop(ExitCode.USAGE, f"{path} is no YAML that can be read: {error}", code="local_file") from None


def _read_text(path: Path) -> str:
    try:
        with open(path, "rb") as file:
            raw = file.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise Stop(ExitCode.USAGE, f"{path} has more than {MAX_BYTES // 1024} kB", code="local_file")
        return raw.decode()
    except (OSError, UnicodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise Stop(ExitCode.USAGE, f"cannot read {path}: {why}", code="local_file") from error


class _NodeConverter:
    """Turns the nodes of the YAML library, which an alias shares, into Nodes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._left = _MAX_NODES

    def node(self, given: Any, depth: int = 0) -> YamlNode:
        import yaml

        line = given.start_mark.line + 1
        self._left -= 1
        if self._left < 0 or depth > _MAX_DEPTH:
            raise self._refused(line, "this grows too large or too deep; an alias may stand in itself")
        if isinstance(given, yaml.CollectionNode) and given.tag not in (f"{_TAG}map", f"{_TAG}seq"):
            raise self._refused(line, f"no such kind of value: {given.tag.removeprefix(_TAG)}")
        if isinstance(given, yaml.MappingNode):
            return YamlNode(self._mapping(given, depth), line)
        if isinstance(given, yaml.SequenceNode):
            return YamlNode([self.node(each, depth + 1) for each in given.value], line)
        return self._scalar(given, line)

    def _scalar(self, given: Any, line: int) -> YamlNode:
        import yaml

        if given.tag not in _SCALAR_TAGS:
            raise self._refused(line, f"no such kind of value: {given.tag.removeprefix(_TAG)}")
        if _SURROGATE.search(given.value):
            raise self._refused(line, "half a character stands here: above \\uffff write \\U and eight digits")
        if given.tag == f"{_TAG}timestamp":
            return YamlNode(given.value, line, given.value)
        try:
            return YamlNode(yaml.SafeLoader("").construct_object(given), line, given.value)
        except (KeyError, ValueError):
            raise self._refused(line, f"{given.value[:_MAX_VALUE_CHARS]!r} is no value that can be used here") from None

    def _mapping(self, given: Any, depth: int) -> dict[str, YamlNode]:
        own: dict[str, YamlNode] = {}
        merged: dict[str, YamlNode] = {}
        for key, value in given.value:
            line = key.start_mark.line + 1
            if key.tag == _MERGE:
                merged = {**self._merged(self.node(value, depth + 1)), **merged}
                continue
            if key.tag not in _SCALAR_TAGS:
                raise self._refused(line, "a key must be a word")
            if key.value in own:
                raise self._refused(line, f"{key.value} stands here twice")
            found = self.node(value, depth + 1)
            own[key.value] = YamlNode(found.value, line, found.text)
        return {**merged, **own}

    def _merged(self, node: YamlNode) -> dict[str, YamlNode]:
        parts = node.value if isinstance(node.value, list) else [node]
        if not all(isinstance(part.value, dict) for part in parts):
            raise self._refused(node.line, "'<<' takes a mapping, or a list of them")
        return {key: value for part in reversed(parts) for key, value in part.value.items()}

    def _refused(self, line: int, detail: str) -> Stop:
        return Stop(ExitCode.USAGE, f"{self._path}:{line}: {detail}", code="local_file")
