"""From a settings form that came back to the body of a settings write: what was changed in it, and nothing else. Pure.

Numbers and the like that cannot be read go on as they were typed, so that the contract refuses them by name.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from docshare.contract import fields, limits
from docshare.contract.problems import Problem
from docshare.contract.settings import SETTINGS
from docshare.contract.viewer import VIEWER_BLOCKS, ViewerField
from docshare.server.web.owner.file.controls import CLEAR_PASSWORD, ON, VIEWER

_WHOLE = re.compile(r"-?[0-9]{1,9}", re.ASCII)
_NUMBER = re.compile(r"-?[0-9]{0,9}(?:\.[0-9]{0,9})?", re.ASCII)
_CLEARED = {"from": 0, "to": 0}
Form = Mapping[str, str]


def read_values(text: str) -> dict[str, str]:
    """What the form showed, from the hidden field that keeps it. Raises ``bad_request``."""
    try:
        shown = json.loads(text)
    except (ValueError, RecursionError):
        shown = None
    if not isinstance(shown, dict) or not all(isinstance(value, str) for value in shown.values()):
        raise Problem("bad_request", "This form is incomplete.", hint="Load the page again and repeat.")
    return shown


def body(shown: Form, form: Form, file: Mapping[str, Any]) -> dict[str, Any]:
    """The settings to write, by wire name.

    Parameters: ``shown`` what the controls showed when the form was drawn, ``form`` what they have now, ``file`` the
    File object as it is. Raises ``bad_request`` for a form that contradicts itself.
    """
    changed = [name for name, value in shown.items() if form.get(name, "") != value]
    found: dict[str, Any] = {}
    for root in dict.fromkeys(name.partition(".")[0] for name in changed):
        if root == VIEWER:
            found[root] = _viewer([name for name in changed if name.startswith(f"{VIEWER}.")], form, file)
        elif root in SETTINGS:
            found |= _READ.get(root, _plain)(root, form)
    return found


def _plain(name: str, form: Form) -> dict[str, Any]:
    value = form.get(name, "")
    return {name: value == ON if isinstance(SETTINGS[name].default, bool) else value}


def _password(name: str, form: Form) -> dict[str, Any]:
    typed, clear = form.get(name, ""), form.get(CLEAR_PASSWORD) == ON
    if typed and clear:
        raise Problem("bad_request", "There is a new password, and it is to be taken away.", hint="Choose one of both.")
    return {name: typed}


def _moment(name: str, form: Form) -> dict[str, Any]:
    typed = form.get(name, "")
    return {name: f"{typed}Z"} if typed else {"neverExpire": True}


def _limit(name: str, form: Form) -> dict[str, Any]:
    return {name: _integer(form.get(name, "") or "0")}


def _range(name: str, form: Form) -> dict[str, Any]:
    return {name: page_range(form.get(f"{name}.from", ""), form.get(f"{name}.to", ""))}


def page_range(first: str, last: str) -> dict[str, Any]:
    """The page range of two text fields; both empty: all pages."""
    if not first.strip() and not last.strip():
        return dict(_CLEARED)
    return {"from": _integer(first), "to": _integer(last)}


def _form_rows(name: str, form: Form) -> dict[str, Any]:
    rows = [_form_row(f"{name}.{at}", form) for at in range(limits.GATE_FIELDS)]
    return {name: [row for row in rows if row["key"] or row["label"]]}


def _form_row(row: str, form: Form) -> dict[str, Any]:
    texts = {key: form.get(f"{row}.{key}", "").strip() for key in ("key", "label", "type")}
    return {**texts, "required": form.get(f"{row}.required") == ON}


def _domains(name: str, form: Form) -> dict[str, Any]:
    return {name: form.get(name, "").split()}


_READ: dict[str, Callable[[str, Form], dict[str, Any]]] = {
    "password": _password,
    "deleteAt": _moment,
    "viewLimit": _limit,
    "pageRange": _range,
    "gateFields": _form_rows,
    "gateDomains": _domains,
}


def _viewer(changed: list[str], form: Form, file: Mapping[str, Any]) -> dict[str, Any]:
    """The viewer settings of ``file`` with the ``changed`` ones; the contract knows only all of them at once."""
    stored = file[VIEWER]
    merged = {key: dict(block) if isinstance(block, dict) else block for key, block in stored.items()}
    for name in changed:
        _, key, *inner = name.split(".")
        table = VIEWER_BLOCKS.get(key)
        if isinstance(table, ViewerField):
            merged[key] = form.get(name, "")
            if not merged[key]:
                del merged[key]
        elif table is not None and inner and inner[0] in table:
            _set(merged.setdefault(key, {}), inner[0], _value(name, table[inner[0]], form.get(name, "")))
    for key, table in VIEWER_BLOCKS.items():
        if not isinstance(table, ViewerField) and _taken_away(key, table, stored, merged):
            del merged[key]
    return merged


def _set(block: dict[str, Any], name: str, value: Any) -> None:
    if value is None:
        block.pop(name, None)
    else:
        block[name] = value


def _taken_away(key: str, table: Mapping[str, ViewerField], stored: Mapping[str, Any], merged: dict[str, Any]) -> bool:
    """Whether all that the block ``key`` must have was emptied, so that the rest of it goes too."""
    required = [name for name, row in table.items() if row.required]
    return bool(required) and key in stored and key in merged and not any(name in merged[key] for name in required)


def _value(name: str, row: ViewerField, text: str) -> Any:
    """What the control sets; None for its default."""
    if row.kind == "boolean":
        return text == ON
    if text == "":
        return None
    if row.kind in ("integer", "number"):
        # The contract drops what is no number; whoever typed it should hear of it.
        pattern = _WHOLE if row.kind == "integer" else _NUMBER
        if not pattern.fullmatch(text) or not any(map(str.isdecimal, text)):
            raise fields.refusal(name, f"a number from {row.low} to {row.high}")
        return int(text) if row.kind == "integer" else float(text)
    return text


def _integer(text: str) -> int | str:
    return int(text) if _WHOLE.fullmatch(text.strip()) else text
