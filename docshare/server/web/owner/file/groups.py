"""The settings of a file grouped by what owners want, with what differs from the defaults and as a command line. Pure.

A setting without a group appears below "More", without a summary.
"""

import json
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from docshare.contract.amounts import format_plural
from docshare.contract.plans import Plan
from docshare.contract.settings import SETTINGS
from docshare.contract.wire import parse_instant
from docshare.report.words import format_date_time
from docshare.server.web.owner.file.controls import VIEWER_SETTINGS, Section, build_fields, is_default

Words = str | Callable[[Mapping[str, Any]], str]


@dataclass(frozen=True)
class SettingGroup:
    """A group of settings: ``unchanged`` says what their defaults mean; each setting has the words for another
    value."""

    title: str
    unchanged: str
    settings: Mapping[str, Words]


def _describe_form(file: Mapping[str, Any]) -> str:
    return f"form with {format_plural(len(file['gateFields']), 'question')}"


def _describe_domains(file: Mapping[str, Any]) -> str:
    names = file["gateDomains"]
    return f"only {names[0]}" if len(names) == 1 else f"only {len(names)} email domains"


def _describe_end(file: Mapping[str, Any]) -> str:
    return f"ends on {format_date_time(parse_instant(file['deleteAt']) or 0)} UTC"


def _describe_views(file: Mapping[str, Any]) -> str:
    return f"{file['viewsConsumed']:,} of {file['viewLimit']:,} views used"


def _describe_pages(file: Mapping[str, Any]) -> str:
    first, last = file["pageRange"]["from"], file["pageRange"]["to"]
    return f"only page {first}" if first == last else f"only pages {first} to {last}"


def _describe_slug(file: Mapping[str, Any]) -> str:
    return f"custom link {file['slug']}"


def _describe_choice(file: Mapping[str, Any]) -> str:
    return "may choose not to be measured" if file["readerChoice"] else "everyone is measured"


_DESIGN_TOOL = SettingGroup(
    "Design tool",
    "Not connected",
    {"designToolUpdatesEnabled": "publishes new versions", "detachDesignToolDesign": ""},
)
_GROUPS = (
    SettingGroup("Who may read it", "Everyone with the link", {
        "password": "password",
        "requireEmail": "email address required",
        "gateFields": _describe_form,
        "gateDomains": _describe_domains,
    }),
    SettingGroup("How long", "Never ends", {
        "deleteAt": _describe_end,
        "neverExpire": "",
        "viewLimit": _describe_views,
        "showExpiry": "end not shown to readers",
    }),
    SettingGroup("Permissions of readers", "Read and download all pages", {
        "allowDownload": "no download",
        "pageRange": _describe_pages,
        "watermark": "watermark",
        "readerChoice": _describe_choice,
        "askReceipt": "confirm receipt",
        "commentsEnabled": "leave notes",
        "commentsAllowPublic": "show notes to others",
        "marksEnabled": "pick pages",
        "annotationsEnabled": "annotate",
    }),
    SettingGroup("How it looks", "Random link", {"slug": _describe_slug, "showSender": "sender not shown"}),
    SettingGroup("Notifications", "No emails", {
        "notifyOnView": "email about each view",
        "notifyOnComment": "email about notes",
    }),
    _DESIGN_TOOL,
)  # fmt: skip
_CLEARED = {"deleteAt": "never", "viewLimit": "0", "pageRange": "all", "gateFields": "none"}  # values of options
_LOOKS_SETTINGS = ("viewerMode", VIEWER_SETTINGS)  # on the page for the appearance


def build_settings_form(file: Mapping[str, Any], plan: Plan, *, design_tool: bool) -> tuple[Section, ...]:
    """Return the form of all settings of ``file``, a File object, except its appearance, for an account on ``plan``.

    Parameters: ``design_tool`` whether the server has a design tool, so that the settings for it have an effect.
    """
    placed = {name for group in _GROUPS for name in group.settings}
    rest = dict.fromkeys((name for name in SETTINGS if name not in placed and name not in _LOOKS_SETTINGS), "")
    groups = (*_GROUPS, SettingGroup("More", "", rest)) if rest else _GROUPS
    return tuple(_build_section(group, file, plan) for group in groups if design_tool or group is not _DESIGN_TOOL)


def _build_section(group: SettingGroup, file: Mapping[str, Any], plan: Plan) -> Section:
    changed = [name for name in group.settings if not is_default(SETTINGS[name], file)]
    words = [words if isinstance(words := group.settings[name], str) else words(file) for name in changed]
    summary = ", ".join(filter(None, words))
    fields = tuple(
        replace(field, shows_default=field.name in changed) for field in build_fields(tuple(group.settings), file, plan)
    )
    return Section(
        group.title,
        fields,
        summary[:1].upper() + summary[1:] or group.unchanged,
        bool(changed),
        write_command(file, group.settings, plan),
    )


def write_command(file: Mapping[str, Any], names: Mapping[str, Any], plan: Plan) -> str:
    """Return the command line that gives ``file``, a File object, the values that it has in the settings ``names``.

    Settings above ``plan`` are left out, and a password is prompted for.
    """
    words = [word for name in names for word in _list_words(name, file, plan)]
    return shlex.join(["docshare", "settings", "set", file["shortId"], *words]) if words else ""


def _list_words(name: str, file: Mapping[str, Any], plan: Plan) -> Iterator[str]:
    row = SETTINGS[name]
    options, value = row.options, file.get(name, row.default)
    if name == "password":
        if file["protected"] and row.plan <= plan:
            yield "--password-prompt"
    elif row.plan > plan or (row.visibility == "never"):
        return
    elif row.kind == "boolean" and row.default is None and is_default(row, file):
        yield f"{name}=null"
    elif row.kind == "boolean":
        yield options[0 if value else 1] if options else f"{name}={json.dumps(value)}"
    elif name == "gateDomains" and value:
        for domain in value:
            yield from (options[0], domain)
    elif name == "gateFields" and value:
        yield f"{name}:={json.dumps(value, ensure_ascii=False)}"
    elif name == "pageRange" and value:
        yield from (options[0], f"{value['from']}-{value['to']}")
    elif value is not None and options:
        yield from (options[0], str(value))
    elif name in _CLEARED:
        yield from (options[0], _CLEARED[name])
    else:
        yield f"{name}=null"
