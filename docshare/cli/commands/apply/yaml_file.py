"""Parse a YAML file into plain values with line numbers, and collect its errors.

The parser creates no objects, limits size and depth, and rejects duplicate keys.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docshare.cli.framework.exits import ExitCode, Stop
from docshare.contract.amounts import format_size
from docshare.contract.problems import Problem

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context

MAX_BYTES = 256 * 1024
_MAX_NODES = 20_000  # counting each alias every time it is used
_MAX_DEPTH = 20
_MAX_REPORTED = 20
_MAX_VALUE_CHARS = 40  # characters of an invalid value to print
_TAG = "tag:yaml.org,2002:"
_MERGE = f"{_TAG}merge"
_SURROGATE = re.compile(r"[\ud800-\udfff]")  # not encodable in UTF-8
_SCALAR_TAGS = {f"{_TAG}{name}" for name in ("str", "int", "float", "bool", "null", "timestamp")}


@dataclass(frozen=True)
class YamlNode:
    """A value and its ``line`` (from 1): a dict of nodes by key, a list of nodes, or a scalar.

    ``text``: a scalar as written; dates stay text.
    """

    value: Any
    line: int
    text: str = ""

    @property
    def is_empty(self) -> bool:
        """Return whether there is no value at all, not even ``null``."""
        return self.value is None and not self.text

    def to_plain(self) -> Any:
        """Return the value without line numbers, as in JSON."""
        if isinstance(self.value, dict):
            return {key: each.to_plain() for key, each in self.value.items()}
        if isinstance(self.value, list):
            return [each.to_plain() for each in self.value]
        return self.value


class ParseErrors:
    """The errors in the file at ``path``, collected so that they can be reported together."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._found: list[tuple[int, str, str]] = []

    def add(self, line: int, detail: str, hint: str = "") -> None:
        """Record an error."""
        self._found.append((line, detail, hint))

    @contextmanager
    def collect(self, line: int) -> Iterator[None]:
        """Record a Stop raised inside for ``line``."""
        try:
            yield
        except (Stop, Problem) as error:
            self.add(line, error.detail, error.hint if isinstance(error, Stop) else "")

    def read_mapping(self, node: YamlNode, known: Iterable[str], what: str) -> Mapping[str, YamlNode] | None:
        """Return the entries of a mapping; record unknown keys. Record another kind of value and return None."""
        if not isinstance(node.value, dict):
            self.add(node.line, f"{what} must be a mapping (key: value)")
            return None
        names = tuple(known)
        for key, value in node.value.items():
            if key not in names:
                self.add(value.line, f"{what} has no key {key!r}", _suggest_key(key, names))
        return {key: value for key, value in node.value.items() if key in names}

    def read_list(self, node: YamlNode | None, what: str) -> list[YamlNode]:
        """Return the entries of a list; record another kind of value."""
        if node is None:
            return []
        if not isinstance(node.value, list):
            self.add(node.line, f"{what} must be a list (lines that begin with '-')")
            return []
        return node.value

    def read_text(self, node: YamlNode | None, what: str) -> str | None:
        """Return a text as written, None if there is none; record an empty text or another kind of value."""
        if node is None:
            return None
        if isinstance(node.value, dict | list) or not node.text.strip():
            self.add(node.line, f"{what} must be text")
            return None
        return node.text

    def read_boolean(self, node: YamlNode | None, what: str) -> bool | None:
        """Return true or false, None if there is no value; record another kind of value."""
        if node is None or isinstance(node.value, bool):
            return None if node is None else node.value
        self.add(node.line, f"{what} must be true or false")
        return None

    def raise_if_any(self, context: "Context") -> None:
        """Raise Stop (2) if there are errors, after printing each with its line."""
        if not self._found:
            return
        found = sorted(self._found, key=lambda each: each[0])
        line, detail, hint = found[0]
        if len(found) == 1:
            raise self._make_stop(f"{self._path}:{line}: {detail}", hint)
        for line, detail, hint in found[:_MAX_REPORTED]:
            context.err(f"error: {self._path}:{line}: {detail}" + (f" ({hint})" if hint else ""), "error")
        raise self._make_stop(f"{len(found)} errors in {self._path}; nothing was sent")

    def _make_stop(self, detail: str, hint: str = "") -> Stop:
        return Stop(ExitCode.USAGE, detail, hint=hint, code="local_file")


def _suggest_key(key: str, names: Iterable[str]) -> str:
    near = get_close_matches(key, names, n=1)
    return f"Did you mean {near[0]}?" if near else f"Known: {', '.join(names)}."


def read_yaml(path: Path) -> YamlNode:
    """Read the file at ``path``. Raise Stop (2) if it is unreadable, not YAML, or expands without limit."""
    import yaml

    class Loader(yaml.SafeLoader):
        depth = 0

        def compose_node(self, parent: Any, index: Any) -> Any:
            self.depth += 1
            if self.depth > _MAX_DEPTH:
                mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
                raise yaml.MarkedYAMLError(problem="nested too deeply", problem_mark=mark)
            try:
                return super().compose_node(parent, index)
            finally:
                self.depth -= 1

    text = _read_text(path)
    try:
        root = yaml.compose(text, Loader=Loader)
        if root is None:
            raise Stop(ExitCode.USAGE, f"{path} is empty", code="local_file")
        return _NodeConverter(path).convert(root)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        raise Stop(ExitCode.USAGE, f"{where}: {error.problem or error.context}", code="local_file") from None
    except yaml.YAMLError as error:
        raise Stop(ExitCode.USAGE, f"{path} is not valid YAML: {error}", code="local_file") from None


def _read_text(path: Path) -> str:
    try:
        with open(path, "rb") as file:
            raw = file.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise Stop(ExitCode.USAGE, f"{path} is larger than {format_size(MAX_BYTES)}", code="local_file")
        return raw.decode()
    except (OSError, UnicodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise Stop(ExitCode.USAGE, f"cannot read {path}: {why}", code="local_file") from error


class _NodeConverter:
    """Converts the nodes of the YAML library, which aliases share, to YamlNode."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._left = _MAX_NODES

    def convert(self, given: Any, depth: int = 0) -> YamlNode:
        import yaml

        line = given.start_mark.line + 1
        self._left -= 1
        if self._left < 0 or depth > _MAX_DEPTH:
            raise self._make_stop(line, "too large or nested too deeply; an alias may contain itself")
        if isinstance(given, yaml.CollectionNode) and given.tag not in (f"{_TAG}map", f"{_TAG}seq"):
            raise self._make_stop(line, f"unsupported type: {given.tag.removeprefix(_TAG)}")
        if isinstance(given, yaml.MappingNode):
            return YamlNode(self._convert_mapping(given, depth), line)
        if isinstance(given, yaml.SequenceNode):
            return YamlNode([self.convert(each, depth + 1) for each in given.value], line)
        return self._convert_scalar(given, line)

    def _convert_scalar(self, given: Any, line: int) -> YamlNode:
        import yaml

        if given.tag not in _SCALAR_TAGS:
            raise self._make_stop(line, f"unsupported type: {given.tag.removeprefix(_TAG)}")
        if _SURROGATE.search(given.value):
            raise self._make_stop(line, "half of a surrogate pair: above \\uffff, write \\U and eight digits")
        if given.tag == f"{_TAG}timestamp":
            return YamlNode(given.value, line, given.value)
        try:
            return YamlNode(yaml.SafeLoader("").construct_object(given), line, given.value)
        except (KeyError, ValueError):
            raise self._make_stop(line, f"{given.value[:_MAX_VALUE_CHARS]!r} is not a valid value") from None

    def _convert_mapping(self, given: Any, depth: int) -> dict[str, YamlNode]:
        own: dict[str, YamlNode] = {}
        merged: dict[str, YamlNode] = {}
        for key, value in given.value:
            line = key.start_mark.line + 1
            if key.tag == _MERGE:
                merged = {**self._merge_mappings(self.convert(value, depth + 1)), **merged}
                continue
            if key.tag not in _SCALAR_TAGS:
                raise self._make_stop(line, "a key must be a plain string")
            if key.value in own:
                raise self._make_stop(line, f"duplicate key {key.value}")
            found = self.convert(value, depth + 1)
            own[key.value] = YamlNode(found.value, line, found.text)
        return {**merged, **own}

    def _merge_mappings(self, node: YamlNode) -> dict[str, YamlNode]:
        parts = node.value if isinstance(node.value, list) else [node]
        if not all(isinstance(part.value, dict) for part in parts):
            raise self._make_stop(node.line, "'<<' requires a mapping or a list of mappings")
        return {key: value for part in reversed(parts) for key, value in part.value.items()}

    def _make_stop(self, line: int, detail: str) -> Stop:
        return Stop(ExitCode.USAGE, f"{self._path}:{line}: {detail}", code="local_file")
