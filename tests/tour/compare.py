"""Print the differences between two recordings: ``python -m tests.tour.compare BEFORE.json AFTER.json``.

Each line names a field and the kind of its difference: ``added`` and ``removed``, ``wording`` (a text for people, with
the same structure around it), ``changed`` (anything else). The exit code is 1 if anything was removed or changed.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, NamedTuple

KINDS = ("added", "removed", "wording", "changed")
_TEXTS = {
    "detail",
    "hint",
    "message",
    "title",
    "why",
    "stdout",
    "stderr",
    "description",
    "note",
    "fix",
    "plain",
    "fires",
    "subject",
    "error_description",
}
_SETS = {"targets", "operations", "options", "files", "metrics"}
_IDENTITIES = ("email", "event", "uuid", "path", "key", "kind", "identity", "sessionId", "page", "name")
_SCRIPT = ("step", "sent", "expected")
_MAX_CHARS = 160


class RecordedChange(NamedTuple):
    """``field``: its path within the step; ``kind``: one of ``KINDS``."""

    step: str
    field: str
    kind: str
    text: str


def compare_recordings(before: dict[str, Any], after: dict[str, Any]) -> list[RecordedChange]:
    """Return the differences, in the order of the steps."""
    found: list[RecordedChange] = []
    old, new = ({step["step"]: step for step in recorded["steps"]} for recorded in (before, after))
    for name in [*old, *(name for name in new if name not in old)]:
        if name not in old or name not in new:
            found.append(RecordedChange(name, "step", "added" if name in new else "removed", ""))
            continue
        answers = [{key: value for key, value in steps[name].items() if key not in _SCRIPT} for steps in (old, new)]
        found += (RecordedChange(name, *row) for row in _compare_values("", *answers))
    for part in ("deliveries", "files"):
        found += (RecordedChange(part, *row) for row in _compare_values(part, before[part], after[part]))
    return found


def _compare_values(path: str, old: Any, new: Any) -> Iterator[tuple[str, str, str]]:
    """Yield field, kind and text of each difference between two values."""
    key = path.rpartition(".")[2]
    if isinstance(old, dict) and isinstance(new, dict):
        for name in dict.fromkeys([*old, *new]):
            field = f"{path}.{name}" if path else name
            if name in old and name in new:
                yield from _compare_values(field, old[name], new[name])
            else:
                yield field, *(("added", _shorten(new[name])) if name in new else ("removed", _shorten(old[name])))
        common = [[name for name in value if name in old and name in new] for value in (old, new)]
        if common[0] != common[1]:
            yield path, "changed", f"order of keys: {' '.join(common[0])} -> {' '.join(common[1])}"
    elif isinstance(old, list) and isinstance(new, list) and key in _SETS:
        yield from ((path, "removed", item) for item in old if item not in new)
        yield from ((path, "added", item) for item in new if item not in old)
    elif isinstance(old, list) and isinstance(new, list):
        matcher = SequenceMatcher(None, *([_identify(item) for item in rows] for rows in (old, new)), autojunk=False)
        for kind, start, end, first, last in matcher.get_opcodes():
            pairs = zip(old[start:end], new[first:last], strict=False) if end - start == last - first else ()
            for index, (one, other) in enumerate(pairs, start):
                yield from _compare_values(f"{path}[{index}]", one, other)
            if kind != "equal" and not pairs:
                yield from ((f"{path}[{index}]", "removed", _shorten(old[index])) for index in range(start, end))
                yield from ((f"{path}[{index}]", "added", _shorten(new[index])) for index in range(first, last))
    elif old != new or type(old) is not type(new):
        is_text = isinstance(old, str) and isinstance(new, str) and (key in _TEXTS or (" " in old and ".rows[" in path))
        yield path, "wording" if is_text else "changed", f"{_shorten(old)} -> {_shorten(new)}"


def _identify(item: Any) -> str:
    """Return what makes ``item`` the same row of a list in both recordings."""
    if isinstance(item, dict):
        return str(next((item[key] for key in _IDENTITIES if key in item), ""))
    return str(item[: max(1, min(2, len(item) - 1))] if isinstance(item, list) else item)


def _shorten(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MAX_CHARS else f"{text[:_MAX_CHARS]}..."


def main() -> int:
    before, after = (json.loads(Path(name).read_text()) for name in sys.argv[1:])
    differences = compare_recordings(before, after)
    step = ""
    for found in differences:
        if found.step != step:
            step = found.step
            print(f"\n{step}")
        print(f"  {found.kind:8} {found.field}: {found.text}")
    counts = Counter(found.kind for found in differences)
    print("\n" + ", ".join(f"{kind} {counts[kind]}" for kind in KINDS))
    return 1 if counts["removed"] + counts["changed"] else 0


if __name__ == "__main__":
    sys.exit(main())
