"""The controls of a settings form, drawn from the tables of the contract. Pure.

A control is named by the wire name of what it sets (``viewLimit``, ``pageRange.from``, ``viewerSettings.flip.rtl``) and
has a text as its value, as a form sends it; that of a checkbox is ``on`` or empty.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from docshare.contract import fields, limits, viewer
from docshare.contract.plans import Plan
from docshare.contract.settings import SETTINGS, Setting
from docshare.contract.viewer import VIEWER_BLOCKS, ViewerField
from docshare.server.web.owner.file import words

ON = "on"
VIEWER = "viewerSettings"
CLEAR_PASSWORD = "password.clear"  # noqa: S105 - a name
_MINUTES = len("2030-01-31T18:00")
Choice = tuple[str, str]
"""What is sent, and what people read."""


@dataclass(frozen=True)
class Control:
    """One control: ``kind`` of the template's macro, ``value`` as the form sends it, ``default`` of a new file in
    words, ``choices`` of a list as (value, words), ``low``, ``high`` and ``step`` of a number."""

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
    most: int = limits.URL_CHARS


@dataclass(frozen=True)
class Field:
    """One setting in the form: its ``controls``, several of which stand together below ``label``.

    ``plan``: the tier it needs where the account's is lower, else empty; ``locked``: it cannot be changed at all, since
    it is at its default; without that, what was set on a higher plan can be taken back.
    """

    name: str
    label: str
    help: str
    controls: tuple[Control, ...]
    plan: str = ""
    locked: bool = False


@dataclass(frozen=True)
class Section:
    """Fields below one heading."""

    title: str
    fields: tuple[Field, ...]


_DESIGN_TOOL = ("Design tool", ("designToolUpdatesEnabled", "detachDesignToolDesign"))
_SECTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Who may read", ("password", "requireEmail", "gateFields", "gateDomains")),
    ("How long, and under which name", ("deleteAt", "neverExpire", "showExpiry", "viewLimit", "slug")),
    ("What readers get", ("allowDownload", "pageRange", "watermark")),
    ("What readers leave", ("askReceipt", "commentsEnabled", "commentsAllowPublic", "marksEnabled",
                            "annotationsEnabled")),
    ("Mail to you", ("notifyOnView", "notifyOnComment")),
    _DESIGN_TOOL,
)  # fmt: skip
_ELSEWHERE = ("viewerMode", VIEWER)  # on the page of the looks


def settings(file: Mapping[str, Any], plan: Plan, *, design_tool: bool) -> tuple[Section, ...]:
    """The form of everything but the looks of ``file``, a File object, for an account on ``plan``.

    Parameters: ``design_tool``, whether the server knows one, so that its settings mean something.
    """
    placed = {name for _, names in _SECTIONS for name in names}
    rest = tuple(name for name in SETTINGS if name not in placed and name not in _ELSEWHERE)
    sections = (*_SECTIONS, ("More", rest)) if rest else _SECTIONS
    shown = (section for section in sections if design_tool or section is not _DESIGN_TOOL)
    return tuple(Section(title, tuple(_fields(names, file, plan))) for title, names in shown)


def looks(file: Mapping[str, Any], plan: Plan, images: Sequence[Choice]) -> tuple[Section, ...]:
    """The form of how the share page of ``file`` looks.

    Parameters: ``images`` that were uploaded to the file: their ids, and what they are called.
    """
    mode = Section("Viewer", tuple(_fields(("viewerMode",), file, plan)))
    stored = file[VIEWER]
    blocks = []
    for key, table in VIEWER_BLOCKS.items():
        rows = {"": table} if isinstance(table, ViewerField) else table
        values = {"": stored.get(key)} if isinstance(table, ViewerField) else stored.get(key, {})
        drawn = (
            _gated(_viewer_field(f"{VIEWER}.{key}{name and '.' + name}", row, values.get(name), images),
                   row.plan, plan, at_default=values.get(name) is None)
            for name, row in rows.items()
        )  # fmt: skip
        blocks.append(Section(words.BLOCKS.get(key, words.spelled(key)), tuple(drawn)))
    return (mode, *blocks)


def values(sections: Sequence[Section]) -> dict[str, str]:
    """What the controls that can be changed show: the form says by it what was changed."""
    return {
        control.name: control.value
        for section in sections
        for field in section.fields
        if not field.locked
        for control in field.controls
    }


def retyped(sections: Sequence[Section], form: Mapping[str, str]) -> tuple[Section, ...]:
    """The same form with what somebody has typed; a password is never sent back."""

    def again(field: Field) -> Field:
        if field.locked:
            return field
        kept = (
            control if control.kind == "password" else replace(control, value=form.get(control.name, ""))
            for control in field.controls
        )
        return replace(field, controls=tuple(kept))

    return tuple(replace(section, fields=tuple(map(again, section.fields))) for section in sections)


def _fields(names: Sequence[str], file: Mapping[str, Any], plan: Plan) -> Iterator[Field]:
    for name in names:
        row = SETTINGS[name]
        if name == "neverExpire" and "deleteAt" not in file:
            continue  # there is no date to take away
        field = _DRAWN.get(name, _plain)(row, file)
        yield _gated(field, row.plan, plan, at_default=_is_default(row, file))


def _is_default(row: Setting, file: Mapping[str, Any]) -> bool:
    if row.name == "password":
        return not file["protected"]
    return bool(file.get(row.name, row.default) == row.default)


def _gated(field: Field, needed: Plan, plan: Plan, *, at_default: bool) -> Field:
    return field if needed <= plan else replace(field, plan=needed.tier, locked=at_default)


def _field(name: str, *controls: Control) -> Field:
    return Field(name, words.label(name), words.help_of(name), controls)


def _control(name: str, kind: str, value: object, **more: Any) -> Control:
    return Control(name, kind, words.label(name), _text(value), words.help_of(name), **more)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return ON if value else ""
    return "" if value is None else str(value)


def _plain(row: Setting, file: Mapping[str, Any]) -> Field:
    value = file.get(row.name, row.default)
    if isinstance(row.default, bool):
        return _field(row.name, _control(row.name, "checkbox", value, default="on" if row.default else "off"))
    return _field(row.name, _control(row.name, "text", value))


def _mode(row: Setting, file: Mapping[str, Any]) -> Field:
    choices = tuple((word, words.option(word)) for word in viewer.VIEWER_MODES)
    return _field(row.name, _control(row.name, "select", file[row.name], choices=choices, default=_text(row.default)))


def _password(row: Setting, file: Mapping[str, Any]) -> Field:
    typed = _control(row.name, "password", "", most=limits.PASSWORD_BYTES)
    taken = Control(CLEAR_PASSWORD, "checkbox", "Take the password away")
    return _field(row.name, typed, taken) if file["protected"] else _field(row.name, typed)


def _moment(row: Setting, file: Mapping[str, Any]) -> Field:
    return _field(row.name, _control(row.name, "datetime-local", file.get(row.name, "")[:_MINUTES]))


def _limit(row: Setting, file: Mapping[str, Any]) -> Field:
    shown = _control(row.name, "number", file.get(row.name), low=0, high=limits.VIEW_LIMIT_MAX)
    used = f" {file['viewsConsumed']} of them are taken." if row.name in file else ""
    return _field(row.name, replace(shown, help=shown.help + used))


def _range(row: Setting, file: Mapping[str, Any]) -> Field:
    stored = file.get(row.name) or {}
    return _field(
        row.name,
        *(
            Control(f"{row.name}.{end}", "number", words.spelled(end), _text(stored.get(end)), high=file["totalPages"])
            for end in ("from", "to")
        ),
    )


def _form(row: Setting, file: Mapping[str, Any]) -> Field:
    stored = file.get(row.name) or []
    rows = [*stored, *[{}] * (limits.GATE_FIELDS - len(stored))]
    return _field(row.name, *(control for at, entry in enumerate(rows) for control in _form_row(row.name, at, entry)))


def _form_row(name: str, at: int, entry: Mapping[str, Any]) -> Iterator[Control]:
    row, number = f"{name}.{at}", at + 1
    kinds = tuple((word, words.option(word)) for word in fields.GATE_TYPES)
    yield Control(f"{row}.label", "text", f"Question {number}", entry.get("label", ""), most=limits.GATE_LABEL_CHARS)
    yield Control(f"{row}.key", "text", f"Key {number}", entry.get("key", ""), most=limits.GATE_KEY_CHARS)
    yield Control(f"{row}.type", "select", f"Type {number}", entry.get("type", fields.GATE_TYPES[0]), choices=kinds)
    yield Control(f"{row}.required", "checkbox", "Required", _text(entry.get("required", False)))


def _domains(row: Setting, file: Mapping[str, Any]) -> Field:
    return _field(row.name, _control(row.name, "lines", "\n".join(file.get(row.name) or [])))


_DRAWN: dict[str, Callable[[Setting, Mapping[str, Any]], Field]] = {
    "viewerMode": _mode,
    "password": _password,
    "deleteAt": _moment,
    "viewLimit": _limit,
    "pageRange": _range,
    "gateFields": _form,
    "gateDomains": _domains,
}


def _viewer_field(name: str, row: ViewerField, stored: Any, images: Sequence[Choice]) -> Field:
    value = row.default if stored is None else stored
    default = words.option(_text(row.default)) if not isinstance(row.default, bool) else "on" if row.default else "off"
    draw = {"boolean": "checkbox", "integer": "number", "number": "number", "word": "select", "asset": "select"}
    kind = draw.get(row.kind, "url" if row.kind == "url" else "text")
    if row.kind == "colour" and row.default is not None:
        kind, value = "color", str(value).lower()  # browsers send it so, and would seem to have changed it
    control = _control(name, kind, value, default=default, choices=_choices(row, stored, images))
    if kind == "number":
        control = replace(control, low=row.low, high=row.high, step="any" if row.kind == "number" else "1")
    if row.kind == "label":
        control = replace(control, most=int(row.high))
    return _field(name, control)


def _choices(row: ViewerField, stored: Any, images: Sequence[Choice]) -> tuple[Choice, ...]:
    none = ("", "none")
    if row.kind == "asset":
        # What is stored stays a choice: a form must be able to say what it leaves alone.
        gone = [(stored, "an image that is gone")] if stored and stored not in dict(images) else []
        return (none, *images, *gone)
    chosen = tuple((word, words.option(word)) for word in row.words)
    return (none, *chosen) if row.kind == "word" and row.default is None else chosen
