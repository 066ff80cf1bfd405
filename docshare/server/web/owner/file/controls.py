"""The controls of a settings form, built from the tables of the contract. Pure.

The name of a control is the wire name of its setting (``viewLimit``, ``pageRange.from``,
``viewerSettings.flip.rtl``). Its value is the text that a form submits; a checkbox has ``on`` or an empty text.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from docshare.contract import fields, limits, viewer
from docshare.contract.plans import Plan
from docshare.contract.settings import SETTINGS, Setting
from docshare.contract.viewer import VIEWER_BLOCKS, ViewerField
from docshare.server.services.readership import visits
from docshare.server.web.owner.file import words

CHECKED = "on"
VIEWER_SETTINGS = "viewerSettings"
CLEAR_PASSWORD = "password.clear"  # noqa: S105 - a name
_DATETIME_LOCAL_CHARS = len("2030-01-31T18:00")
Choice = tuple[str, str]
"""The submitted value, and its label."""


@dataclass(frozen=True)
class Control:
    """One control.

    ``kind``: the macro of the template; ``value`` as the form submits it; ``default`` of a new file, as text;
    ``choices`` of a list as (value, label); ``low``, ``high`` and ``step`` of a number.
    """

    name: str
    kind: str
    label: str
    value: str = ""
    help: str = ""
    default: str = ""
    choices: tuple[Choice, ...] = ()
    low: float = 0
    high: float = 0
    step: str = "1"
    max_chars: int = limits.URL_CHARS


@dataclass(frozen=True)
class SettingField:
    """One setting in the form: its ``controls``, several of which share a ``label``.

    ``plan``: the required tier if the account's is lower, else empty; ``is_locked``: it cannot be changed at all
    because it is at its default; otherwise a value set on a higher plan can be cleared. ``shows_default``: whether the
    default is part of the help.
    """

    name: str
    label: str
    help: str
    controls: tuple[Control, ...]
    plan: str = ""
    is_locked: bool = False
    shows_default: bool = True


@dataclass(frozen=True)
class Section:
    """Fields below one heading.

    ``summary``: the values that differ from the defaults, in words, or what the defaults mean; ``is_open``: whether
    any differs, or was changed in a rejected form; ``command``: the command line that sets the stored values.
    """

    title: str
    fields: tuple[SettingField, ...]
    summary: str = ""
    is_open: bool = False
    command: str = ""


def build_looks_form(file: Mapping[str, Any], plan: Plan, images: Sequence[Choice]) -> tuple[Section, ...]:
    """Return the form for the appearance of the share page of ``file``.

    Parameters: ``images`` uploaded to the file: ids and names.
    """
    is_changed = not is_default(SETTINGS["viewerMode"], file)
    mode = Section(
        "Viewer", tuple(replace(field, shows_default=is_changed) for field in build_fields(("viewerMode",), file, plan))
    )
    stored = file[VIEWER_SETTINGS]
    blocks = []
    for key, table in VIEWER_BLOCKS.items():
        rows = {"": table} if isinstance(table, ViewerField) else table
        values = {"": stored.get(key)} if isinstance(table, ViewerField) else stored.get(key, {})
        fields = (
            _lock_by_plan(_build_viewer_field(f"{VIEWER_SETTINGS}.{key}{name and '.' + name}", row, values.get(name),
                images),
                   row.plan, plan, at_default=values.get(name) is None)
            for name, row in rows.items()
        )  # fmt: skip
        blocks.append(Section(words.BLOCK_LABELS.get(key, words.spell_out(key)), tuple(fields)))
    return (mode, *blocks)


def list_control_values(sections: Sequence[Section]) -> dict[str, str]:
    """Return the values of the controls that can be changed; the form compares them to find changes."""
    return {
        control.name: control.value
        for section in sections
        for field in section.fields
        if not field.is_locked
        for control in field.controls
    }


def fill_submitted(sections: Sequence[Section], form: Mapping[str, str]) -> tuple[Section, ...]:
    """Return the form filled with the submitted values; a password is never sent back."""

    def refill(field: SettingField) -> SettingField:
        if field.is_locked:
            return field
        kept = (
            control if control.kind == "password" else replace(control, value=form.get(control.name, ""))
            for control in field.controls
        )
        return replace(field, controls=tuple(kept))

    def refill_section(section: Section) -> Section:
        fields = tuple(map(refill, section.fields))
        typed = any(form.get(it.name) for field in fields for it in field.controls if it.kind == "password")
        return replace(section, fields=fields, is_open=section.is_open or typed or fields != section.fields)

    return tuple(map(refill_section, sections))


def list_named_controls(sections: Sequence[Section]) -> dict[str, tuple[str, str]]:
    """Return id and label of each control by its name, and of the first one by the name of its setting or block."""
    found: dict[str, tuple[str, str]] = {}
    for section in sections:
        for field in section.fields:
            for control in field.controls:
                label = control.label if control.label == field.label else f"{field.label}, {control.label}"
                entry = (f"c-{control.name.replace('.', '-')}", label if section.title != label else field.label)
                found[control.name] = entry
                block = control.name.rpartition(".")[0]
                for outer in (field.name, block):
                    found.setdefault(outer, entry)
    return found


def build_fields(names: Sequence[str], file: Mapping[str, Any], plan: Plan) -> Iterator[SettingField]:
    """Yield the fields of the settings ``names`` of ``file``, a File object, for an account on ``plan``."""
    for name in names:
        row = SETTINGS[name]
        if name == "neverExpire" and "deleteAt" not in file:
            continue  # there is no date to clear
        field = _FIELD_BUILDERS.get(name, _build_plain_field)(row, file)
        yield _lock_by_plan(field, row.plan, plan, at_default=is_default(row, file))


def is_default(row: Setting, file: Mapping[str, Any]) -> bool:
    """Return whether the setting of ``file``, a File object, has the value of a new file."""
    if row.name == "password":
        return not file["protected"]
    if row.name == "readerChoice":
        unset = {name: value for name, value in file.items() if name != row.name}
        return bool(file[row.name] is visits.is_choice_offered(unset))
    return bool(file.get(row.name, row.default) == row.default)


def _lock_by_plan(field: SettingField, needed: Plan, plan: Plan, *, at_default: bool) -> SettingField:
    return field if needed <= plan else replace(field, plan=needed.tier, is_locked=at_default)


def _build_field(name: str, *controls: Control) -> SettingField:
    return SettingField(name, words.control_label(name), words.control_help(name), controls)


def _build_control(name: str, kind: str, value: object, **more: Any) -> Control:
    return Control(name, kind, words.control_label(name), format_value(value), words.control_help(name), **more)


def format_value(value: object) -> str:
    """Return ``value`` as a form submits it."""
    if isinstance(value, bool):
        return CHECKED if value else ""
    return "" if value is None else str(value)


def _build_plain_field(row: Setting, file: Mapping[str, Any]) -> SettingField:
    value = file.get(row.name, row.default)
    if row.kind == "boolean":
        default = "" if row.default is None else "on" if row.default else "off"
        return _build_field(row.name, _build_control(row.name, "checkbox", value, default=default))
    return _build_field(row.name, _build_control(row.name, "text", value))


def _build_viewer_mode_field(row: Setting, file: Mapping[str, Any]) -> SettingField:
    choices = tuple((word, words.option_label(word, row.name)) for word in viewer.VIEWER_MODES)
    default = words.option_label(format_value(row.default))
    return _build_field(row.name, _build_control(row.name, "select", file[row.name], choices=choices, default=default))


def _build_password_field(row: Setting, file: Mapping[str, Any]) -> SettingField:
    typed = _build_control(row.name, "password", "", max_chars=limits.PASSWORD_BYTES)
    taken = Control(CLEAR_PASSWORD, "checkbox", "Remove the password")
    return _build_field(row.name, typed, taken) if file["protected"] else _build_field(row.name, typed)


def _build_expiry_field(row: Setting, file: Mapping[str, Any]) -> SettingField:
    return _build_field(
        row.name, _build_control(row.name, "datetime-local", file.get(row.name, "")[:_DATETIME_LOCAL_CHARS])
    )


def _build_view_limit_field(row: Setting, file: Mapping[str, Any]) -> SettingField:
    control = _build_control(row.name, "number", file.get(row.name), low=0, high=limits.VIEW_LIMIT_MAX)
    used = f" {file['viewsConsumed']} of them are used." if row.name in file else ""
    return _build_field(row.name, replace(control, help=control.help + used))


def _build_page_range_field(row: Setting, file: Mapping[str, Any]) -> SettingField:
    stored = file.get(row.name) or {}
    return _build_field(
        row.name,
        *(
            Control(
                f"{row.name}.{end}",
                "number",
                words.spell_out(end),
                format_value(stored.get(end)),
                high=file["totalPages"],
            )
            for end in ("from", "to")
        ),
    )


def _build_gate_form_field(row: Setting, file: Mapping[str, Any]) -> SettingField:
    stored = file.get(row.name) or []
    rows = [*stored, *[{}] * (limits.GATE_FIELDS - len(stored))]
    return _build_field(
        row.name,
        *(control for at, entry in enumerate(rows) for control in _build_gate_field_controls(row.name, at, entry)),
    )


def _build_gate_field_controls(name: str, at: int, entry: Mapping[str, Any]) -> Iterator[Control]:
    row, number = f"{name}.{at}", at + 1
    kinds = tuple((word, words.option_label(word)) for word in fields.GATE_TYPES)
    yield Control(
        f"{row}.label", "text", f"Question {number}", entry.get("label", ""), max_chars=limits.GATE_LABEL_CHARS
    )
    yield Control(
        f"{row}.type", "select", f"Kind of answer {number}", entry.get("type", fields.GATE_TYPES[0]), choices=kinds
    )
    yield Control(f"{row}.key", "text", f"Field name {number}", entry.get("key", ""), max_chars=limits.GATE_KEY_CHARS)
    yield Control(
        f"{row}.required", "checkbox", f"Answer {number} is required", format_value(entry.get("required", False))
    )


def _build_domains_field(row: Setting, file: Mapping[str, Any]) -> SettingField:
    return _build_field(row.name, _build_control(row.name, "lines", "\n".join(file.get(row.name) or [])))


_FIELD_BUILDERS: dict[str, Callable[[Setting, Mapping[str, Any]], SettingField]] = {
    "viewerMode": _build_viewer_mode_field,
    "password": _build_password_field,
    "deleteAt": _build_expiry_field,
    "viewLimit": _build_view_limit_field,
    "pageRange": _build_page_range_field,
    "gateFields": _build_gate_form_field,
    "gateDomains": _build_domains_field,
}


def _build_viewer_field(name: str, row: ViewerField, stored: Any, images: Sequence[Choice]) -> SettingField:
    value = row.default if stored is None else stored
    default = (
        words.option_label(format_value(row.default), name)
        if not isinstance(row.default, bool)
        else "on"
        if row.default
        else "off"
    )
    draw = {"boolean": "checkbox", "integer": "number", "number": "number", "word": "select", "asset": "select"}
    kind = draw.get(row.kind, "url" if row.kind == "url" else "text")
    if row.kind == "color" and row.default is not None:
        kind, value = "color", str(value).lower()  # browsers submit lower case, which must not count as a change
    control = _build_control(name, kind, value, default=default, choices=_list_choices(name, row, stored, images))
    if kind == "number":
        control = replace(control, low=row.low, high=row.high, step="any" if row.kind == "number" else "1")
    if row.kind == "label":
        control = replace(control, max_chars=int(row.high))
    return replace(_build_field(name, control), shows_default=stored is not None and stored != row.default)


def _list_choices(name: str, row: ViewerField, stored: Any, images: Sequence[Choice]) -> tuple[Choice, ...]:
    none = ("", "None")
    if row.kind == "asset":
        # Keep a stored value among the choices; otherwise the form could not leave it unchanged.
        gone = [(stored, "A deleted image")] if stored and stored not in dict(images) else []
        return (none, *images, *gone)
    chosen = tuple((word, words.option_label(word, name)) for word in row.words)
    return (none, *chosen) if row.kind == "word" and row.default is None else chosen
