"""Convert a submitted settings form to the body of a settings write that contains only the changes. Pure.

Values that cannot be parsed, such as numbers, are passed on as typed, so that the contract rejects them by name.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from docshare.contract import fields, limits
from docshare.contract.problems import Problem
from docshare.contract.settings import SETTINGS
from docshare.contract.viewer import VIEWER_BLOCKS, ViewerField
from docshare.server.web.owner.file.controls import CHECKED, CLEAR_PASSWORD, VIEWER_SETTINGS

_INTEGER = re.compile(r"-?[0-9]{1,9}", re.ASCII)
_NUMBER = re.compile(r"-?[0-9]{0,9}(?:\.[0-9]{0,9})?", re.ASCII)
_ALL_PAGES = {"from": 0, "to": 0}
FormValues = Mapping[str, str]


def parse_displayed_values(text: str) -> dict[str, str]:
    """Return the values that the form showed, from its hidden field. Raises ``bad_request``."""
    try:
        displayed = json.loads(text)
    except (ValueError, RecursionError):
        displayed = None
    if not isinstance(displayed, dict) or not all(isinstance(value, str) for value in displayed.values()):
        raise Problem("bad_request", "This form is incomplete.", hint="Load the page again and repeat.")
    return displayed


def build_settings_body(shown: FormValues, form: FormValues, file: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings to write, by wire name.

    Parameters: ``shown`` values of the controls when the form was rendered, ``form`` their submitted values, ``file``
    the current File object. Raises ``bad_request`` for a form that contradicts itself.
    """
    changed = [name for name, value in shown.items() if form.get(name, "") != value]
    found: dict[str, Any] = {}
    for root in dict.fromkeys(name.partition(".")[0] for name in changed):
        if root == VIEWER_SETTINGS:
            found[root] = _merge_viewer_settings(
                [name for name in changed if name.startswith(f"{VIEWER_SETTINGS}.")], form, file
            )
        elif root in SETTINGS:
            found |= _READERS.get(root, _read_plain)(root, form)
    return found


def _read_plain(name: str, form: FormValues) -> dict[str, Any]:
    value = form.get(name, "")
    return {name: value == CHECKED if SETTINGS[name].kind == "boolean" else value}


def _read_password(name: str, form: FormValues) -> dict[str, Any]:
    typed, clear = form.get(name, ""), form.get(CLEAR_PASSWORD) == CHECKED
    if typed and clear:
        raise Problem("bad_request", "Set a new password or remove it, not both.")
    return {name: typed}


def _read_expiry(name: str, form: FormValues) -> dict[str, Any]:
    typed = form.get(name, "")
    return {name: f"{typed}Z"} if typed else {"neverExpire": True}


def _read_view_limit(name: str, form: FormValues) -> dict[str, Any]:
    return {name: _parse_integer(form.get(name, "") or "0")}


def _read_page_range(name: str, form: FormValues) -> dict[str, Any]:
    return {name: parse_page_range(form.get(f"{name}.from", ""), form.get(f"{name}.to", ""))}


def parse_page_range(first: str, last: str) -> dict[str, Any]:
    """Return the page range of two text fields; all pages if both are empty."""
    if not first.strip() and not last.strip():
        return dict(_ALL_PAGES)
    return {"from": _parse_integer(first), "to": _parse_integer(last)}


def _read_gate_fields(name: str, form: FormValues) -> dict[str, Any]:
    rows = [_read_gate_field(f"{name}.{at}", form) for at in range(limits.GATE_FIELDS)]
    return {name: [row for row in rows if row["key"] or row["label"]]}


def _read_gate_field(row: str, form: FormValues) -> dict[str, Any]:
    texts = {key: form.get(f"{row}.{key}", "").strip() for key in ("key", "label", "type")}
    return {**texts, "required": form.get(f"{row}.required") == CHECKED}


def _read_domains(name: str, form: FormValues) -> dict[str, Any]:
    return {name: form.get(name, "").split()}


_READERS: dict[str, Callable[[str, FormValues], dict[str, Any]]] = {
    "password": _read_password,
    "deleteAt": _read_expiry,
    "viewLimit": _read_view_limit,
    "pageRange": _read_page_range,
    "gateFields": _read_gate_fields,
    "gateDomains": _read_domains,
}


def _merge_viewer_settings(changed: list[str], form: FormValues, file: Mapping[str, Any]) -> dict[str, Any]:
    """Merge the ``changed`` viewer settings into those of ``file``; the contract only accepts the complete object."""
    stored = file[VIEWER_SETTINGS]
    merged = {key: dict(block) if isinstance(block, dict) else block for key, block in stored.items()}
    for name in changed:
        _, key, *inner = name.split(".")
        table = VIEWER_BLOCKS.get(key)
        if isinstance(table, ViewerField):
            merged[key] = form.get(name, "")
            if not merged[key]:
                del merged[key]
        elif table is not None and inner and inner[0] in table:
            _set_or_remove(
                merged.setdefault(key, {}), inner[0], _parse_value(name, table[inner[0]], form.get(name, ""))
            )
    for key, table in VIEWER_BLOCKS.items():
        if not isinstance(table, ViewerField) and _is_block_cleared(key, table, stored, merged):
            del merged[key]
    return merged


def _set_or_remove(block: dict[str, Any], name: str, value: Any) -> None:
    if value is None:
        block.pop(name, None)
    else:
        block[name] = value


def _is_block_cleared(
    key: str, table: Mapping[str, ViewerField], stored: Mapping[str, Any], merged: dict[str, Any]
) -> bool:
    """Return whether all required fields of the block ``key`` were emptied, which clears its other fields too."""
    required = [name for name, row in table.items() if row.required]
    return bool(required) and key in stored and key in merged and not any(name in merged[key] for name in required)


def _parse_value(name: str, row: ViewerField, text: str) -> Any:
    """Return the value of the control; None for its default."""
    if row.kind == "boolean":
        return text == CHECKED
    if text == "":
        return None
    if row.kind in ("integer", "number"):
        # The contract ignores text that is not a number; here the person who typed it must see an error.
        pattern = _INTEGER if row.kind == "integer" else _NUMBER
        if not pattern.fullmatch(text) or not any(map(str.isdecimal, text)):
            raise fields.field_problem(name, f"a number from {row.low} to {row.high}")
        return int(text) if row.kind == "integer" else float(text)
    return text


def _parse_integer(text: str) -> int | str:
    return int(text) if _INTEGER.fullmatch(text.strip()) else text
