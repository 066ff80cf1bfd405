"""``docshare settings get`` and ``export``: print the settings."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from docshare.cli.commands.settings.declarations import ROWS, VIEWER, canonicalize, find_setting, is_object_key
from docshare.cli.commands.settings.stored import (
    ASSETS,
    flatten_viewer,
    get_setting_value,
    get_viewer_settings,
    merge_viewer,
)
from docshare.cli.framework.context import Context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.terminal.cells import format_cell
from docshare.cli.terminal.output import Emitter, Spec
from docshare.cli.terminal.text import clean
from docshare.contract.plans import Plan
from docshare.contract.settings import SETTINGS

PROTECTED = "protected"  # the key of a File object that says whether a password is set

# Specific to one file: its password, its slug, its link to a design.
_FILE_SPECIFIC = frozenset({"password", "slug", "neverExpire", "detachDesignToolDesign", "designToolUpdatesEnabled"})


def _list_keys() -> tuple[str, ...]:
    return tuple(PROTECTED if name == "password" else name for name, row in SETTINGS.items() if _is_shown(row.name))


def _is_shown(name: str) -> bool:
    return name == "password" or SETTINGS[name].visibility != "never"


def extract_settings(file: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings in a File object, in the order of FileSettings in openapi.yaml."""
    return {key: file[key] for key in _list_keys() if key in file}


def flatten(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings by the keys of ``settings set``: ``viewerSettings`` as dotted keys."""
    found = {key: value for key, value in settings.items() if key != VIEWER}
    return found | dict(flatten_viewer(get_viewer_settings(settings)))


def get_effective_value(file: Mapping[str, Any], key: str) -> Any:
    """Return the effective value of a setting (a key of ``ROWS``, ``protected``, a block, or ``viewerSettings``)."""
    if key == PROTECTED:
        return file.get(PROTECTED)
    if is_object_key(key):
        return get_viewer_settings(file) if key == VIEWER else get_viewer_settings(file).get(key)
    found = get_setting_value(file, key)
    return ROWS[key].default if found is None and ROWS[key].is_viewer_setting else found


def parse_keys(keys: Sequence[str]) -> list[str]:
    """Return the keys in canonical form; raise Stop (2) for an unknown or a write-only one."""
    found = [key if key in (PROTECTED, VIEWER) else canonicalize(key) for key in keys]
    for key in found:
        if key != PROTECTED and not is_object_key(key):
            find_setting(key)
        if key in SETTINGS and not _is_shown(key):
            raise Stop(ExitCode.USAGE, f"{key} is write-only")
    return found


def print_settings(context: Context, file: Mapping[str, Any], keys: Sequence[str]) -> None:
    """Print all settings of a File object, or those of ``keys`` (canonical)."""
    if len(keys) == 1:
        value = get_effective_value(file, keys[0])
        spec = GET_SPEC._replace(plain=(keys[0],), human=lambda row, _: [format_cell(row.get(keys[0]))])
        Emitter(context, spec).emit({keys[0]: value})
        return
    printer = Emitter(context, GET_SPEC)
    chosen = {key: get_effective_value(file, key) for key in keys} if keys else extract_settings(file)
    nested = printer.format in ("json", "jsonl") or not printer.is_default_shape
    printer.emit(chosen if nested else flatten(chosen))


def _render_settings(row: Mapping[str, Any], context: Context) -> Iterator[str]:
    """Yield lines with key, value and plan for people, grouped by block of ``viewerSettings``."""
    width, group, screen = max(map(len, row), default=0), "file", context.out_screen
    for key, value in row.items():
        known_as = ROWS.get("password" if key == PROTECTED else key)
        if known_as is not None and known_as.group != group:
            group = known_as.group
            yield ""
        tag = f"[{known_as.plan.tier}]" if known_as is not None and known_as.plan > Plan.FREE else ""
        text = f"{screen.paint('dim', clean(key).ljust(width))}  {format_cell(value)}"
        yield f"{text}  {screen.paint('dim', tag)}".rstrip() if tag else text


GET_SPEC = Spec(fields=_list_keys(), human=_render_settings)


def export_settings(file: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the body that gives another file the same settings, and the keys left out.

    The body has every setting, even an unset one. Assets are left out because they belong to one file.
    """
    body: dict[str, Any] = {}
    for name, row in SETTINGS.items():
        if name in _FILE_SPECIFIC:
            continue
        if name == "deleteAt":
            body |= {"deleteAt": file["deleteAt"]} if "deleteAt" in file else {"neverExpire": True}
        elif name in file:
            body[name] = file[name]
        else:
            body[name] = row.clears[0] if row.clears else row.default
    return _remove_assets(body)


def _remove_assets(body: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    looks = dict(flatten_viewer(get_viewer_settings(body)))
    dropped = [key for key in ASSETS if key in looks]
    if "background.assetId" in dropped and looks.get("background.type") == "image":
        dropped.append("background.type")  # useless without the image
    kept = {key: value for key, value in looks.items() if key not in dropped}
    return {**body, VIEWER: merge_viewer({}, kept)}, dropped
