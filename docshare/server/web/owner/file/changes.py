"""Convert a submitted settings form to the body of a settings write that contains only the changes. Pure.

Values that cannot be parsed, such as numbers, are passed on as typed, so that the contract rejects them by name.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from docshare.contract import fields, limits
from docshare.contract.features import plan_problem
from docshare.contract.plans import Plan
from docshare.contract.problems import Problem
from docshare.contract.settings import SETTINGS, parse_settings, required_plan
from docshare.contract.viewer import VIEWER_BLOCKS, ViewerField
from docshare.server.web.owner.file.controls import CHECKED, CLEAR_PASSWORD, VIEWER_SETTINGS, build_fields

DISPLAYED_FIELD = "shown"  # the hidden field with the values that the form showed
_INTEGER = re.compile(r"-?[0-9]{1,9}", re.ASCII)
_NOT_IN_KEY = re.compile(r"[^a-z0-9]+")
_NUMBER = re.compile(r"-?[0-9]{0,9}(?:\.[0-9]{0,9})?", re.ASCII)
_ALL_PAGES = {"from": 0, "to": 0}
_LISTS = ("gateFields", "gateDomains", "pageRange")  # settings that a form can only replace as a whole
FormValues = Mapping[str, str]


class FormChanges(NamedTuple):
    """``shown``: the values of the controls when the form was rendered, None if they are lost; ``body`` of the write
    with the changes; ``problems`` why it would be rejected."""

    shown: dict[str, str] | None
    body: dict[str, Any]
    problems: list[Problem]


def read_changes(form: FormValues, file: Mapping[str, Any], plan: Plan) -> FormChanges:
    """Return what the submitted ``form`` changes of ``file``, the current File object, for an account on ``plan``."""
    try:
        shown = parse_displayed_values(form.get(DISPLAYED_FIELD, ""))
    except Problem as problem:
        return FormChanges(None, {}, [problem])
    body, problems = _build_settings_body(shown, form, file)
    return FormChanges(shown, body, problems + _list_problems(body, form, plan))


def reject_outdated(read: FormChanges, file: Mapping[str, Any], plan: Plan) -> FormChanges:
    """Return ``read`` with a problem (``conflict``) for each list that it changes although ``file`` has another one
    than the form showed: a question or domain that was added meanwhile would be lost.

    ``shown`` then has the stored list, so that submitting the form again replaces it.
    """
    shown, problems = dict(read.shown or {}), list(read.problems)
    for name in _LISTS:
        if name in read.body:
            stored, wanted = (_list_control_values(name, each, plan) for each in (file, {**file, **read.body}))
            if stored not in ({key: shown.get(key, "") for key in stored}, wanted):
                shown |= stored
                now = _describe_list(name, file)
                detail = f"Changed since you opened this form. Stored now: {now}. Save again to replace it."
                problems.append(Problem("conflict", detail, hint="", field=name))
    return FormChanges(shown if read.shown is not None else None, read.body, problems)


def _list_control_values(name: str, file: Mapping[str, Any], plan: Plan) -> dict[str, str]:
    return {control.name: control.value for field in build_fields((name,), file, plan) for control in field.controls}


def _describe_list(name: str, file: Mapping[str, Any]) -> str:
    stored = file.get(name)
    if not stored:
        return "all pages" if name == "pageRange" else "none"
    if name == "pageRange":
        return f"pages {stored['from']} to {stored['to']}"
    return ", ".join(row["label"] if isinstance(row, dict) else row for row in stored)


def parse_displayed_values(text: str) -> dict[str, str]:
    """Return the values that the form showed, from its hidden field. Raises ``bad_request``."""
    try:
        displayed = json.loads(text)
    except (ValueError, RecursionError):
        displayed = None
    if not isinstance(displayed, dict) or not all(isinstance(value, str) for value in displayed.values()):
        raise Problem("bad_request", "This form is incomplete.", hint="Load the page again and repeat.")
    return displayed


def _build_settings_body(
    shown: FormValues, form: FormValues, file: Mapping[str, Any]
) -> tuple[dict[str, Any], list[Problem]]:
    """Return the settings to write, by wire name, and the problems of values that cannot be part of it.

    Parameters: ``shown`` values of the controls when the form was rendered, ``form`` their submitted values, ``file``
    the current File object.
    """
    changed = [name for name, value in shown.items() if form.get(name, "") != value]
    found: dict[str, Any] = {}
    problems: list[Problem] = []
    for root in dict.fromkeys(name.partition(".")[0] for name in changed):
        try:
            if root == VIEWER_SETTINGS:
                found[root] = _merge_viewer_settings(
                    [name for name in changed if name.startswith(f"{VIEWER_SETTINGS}.")], form, file
                )
            elif root in SETTINGS:
                found |= _READERS.get(root, _read_plain)(root, form)
        except Problem as problem:
            problems.append(problem)
    return found, problems


def _list_problems(body: Mapping[str, Any], form: FormValues, plan: Plan) -> list[Problem]:
    """Return everything in ``body`` that the contract rejects on ``plan``; a write names only the first of them.

    The field of each problem is the name of a control of ``form``.
    """
    parts = [{name: value} for name, value in body.items() if name != VIEWER_SETTINGS]
    parts += [{VIEWER_SETTINGS: {key: block}} for key, block in body.get(VIEWER_SETTINGS, {}).items()]
    problems = []
    for part in parts:
        try:
            for name, value in parse_settings(part).items():
                needed = required_plan(name, value)
                if needed > plan:
                    field = ".".join((name, *part[name])) if name == VIEWER_SETTINGS else name
                    raise plan_problem(needed, f"The setting {field}", field)
        except Problem as problem:
            problem.field = _find_control_name(problem.field, form)
            problems.append(problem)
    return problems


def _find_control_name(field: str, form: FormValues) -> str:
    """Return the control of ``field``: rows of the gate form that are empty are not part of the body."""
    root, bracket, rest = field.partition("[")
    if not bracket:
        return field
    if root != "gateFields":
        return root
    index, _, inner = rest.partition("].")
    return f"{root}.{_list_gate_rows(root, form)[int(index)][0]}.{inner}"


def _read_plain(name: str, form: FormValues) -> dict[str, Any]:
    value = form.get(name, "")
    return {name: value == CHECKED if SETTINGS[name].kind == "boolean" else value}


def _read_password(name: str, form: FormValues) -> dict[str, Any]:
    typed, clear = form.get(name, ""), form.get(CLEAR_PASSWORD) == CHECKED
    if typed and clear:
        raise Problem("bad_request", "Set a new password or remove it, not both.", hint="", field=name)
    return {name: typed}


def _read_expiry(name: str, form: FormValues) -> dict[str, Any]:
    typed = form.get(name, "")
    if typed and form.get("neverExpire") == CHECKED:
        detail = "Enter a date, or choose that the link never ends, not both."
        raise Problem("bad_request", detail, hint="", field=name)
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
    return {name: [row for _, row in _list_gate_rows(name, form)]}


def _list_gate_rows(name: str, form: FormValues) -> list[tuple[int, dict[str, Any]]]:
    """Return the rows that are not empty, each with its number from 0; a missing field name is made from the
    question."""
    found: list[tuple[int, dict[str, Any]]] = []
    for at in range(limits.GATE_FIELDS):
        row = {key: form.get(f"{name}.{at}.{key}", "").strip() for key in ("key", "label", "type")}
        if row["key"] or row["label"]:
            used = {other["key"] for _, other in found}
            row["key"] = row["key"] or _make_gate_key(row["label"], used)
            found.append((at, {**row, "required": form.get(f"{name}.{at}.required") == CHECKED}))
    return found


def _make_gate_key(label: str, used: set[str]) -> str:
    words = _NOT_IN_KEY.sub("_", unicodedata.normalize("NFKD", label.casefold()).encode("ascii", "ignore").decode())
    key = words.lstrip("_0123456789")[: limits.GATE_KEY_CHARS - 2].rstrip("_") or "answer"
    return next(name for name in (key, *(f"{key}_{number}" for number in range(2, 7))) if name not in used)


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
