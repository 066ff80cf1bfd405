"""What a variant allows its reader differently from the file: as it is typed, and as it is told."""

from collections.abc import Mapping
from typing import Any

from docshare.cli.framework.exits import ExitCode, Stop
from docshare.contract.problems import Problem

Overrides = dict[str, Any]

_ALL_PAGES = {"from": 0, "to": 0}  # Spec: Variant. On a variant this serves the full document.
_KEYS = ("allowDownload", "pageRange")


def build_overrides(download: bool | None, pages: str | None, name: str = "--pages") -> Overrides:
    """The overrides for ``--download`` and ``--pages`` (``3-9``, ``5`` or ``all``), None leaving one out; Stop (2) for
    what is no page range, saying ``name``."""
    found: Overrides = {} if download is None else {"allowDownload": download}
    if pages is not None:
        from docshare.cli.commands.settings.values import parse_page_range

        typed = parse_page_range(pages, name)
        if typed is not None and not typed["from"]:
            raise Stop(ExitCode.USAGE, f"{name}: pages are counted from 1", hint="Write 3-9, 5, or all.")
        found["pageRange"] = _validate("pageRange", typed or _ALL_PAGES, name)
    return found


def parse_overrides(text: str) -> Overrides:
    """The overrides in a JSON object; Stop (2) for anything that a variant cannot override."""
    from docshare.cli.commands.settings.values import parse_json

    found = parse_json(text, "--overrides")
    if not isinstance(found, dict):
        raise Stop(ExitCode.USAGE, "--overrides must be an object", hint='Such as {"allowDownload":false}.')
    strange = sorted(found.keys() - set(_KEYS))
    if strange:
        known = " and ".join(_KEYS)
        raise Stop(ExitCode.USAGE, f"a variant overrides {known}, not {strange[0]}", hint="The rest is set per file.")
    return {key: _validate(key, value, f"--overrides: {key}") for key, value in found.items()}


def _validate(key: str, value: object, name: str) -> Any:
    from docshare.contract import fields  # here, since what is only to be shown needs none of it

    try:
        return fields.boolean(name, value) if key == "allowDownload" else fields.page_range(name, value)
    except Problem as problem:
        raise Stop(ExitCode.USAGE, problem.detail) from None


def format_page_range(overrides: Mapping[str, Any]) -> str:
    """The page range as it is typed: ``3-9``, ``all``, or nothing where the file's own holds."""
    window = overrides.get("pageRange")
    if not isinstance(window, dict):
        return ""
    return f"{window.get('from')}-{window.get('to')}" if window.get("to") else "all"


def describe_overrides(overrides: object) -> str:
    """The overrides for people: ``no download, pages 3-9``."""
    if not isinstance(overrides, dict):
        return ""
    download = {True: "download", False: "no download"}.get(overrides.get("allowDownload", ""), "")
    pages = format_page_range(overrides)
    return ", ".join(filter(None, (download, "all pages" if pages == "all" else pages and f"pages {pages}")))
