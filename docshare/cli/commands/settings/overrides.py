"""The settings that a variant overrides for its reader: parse them and describe them."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from docshare.cli.framework.exits import ExitCode, Stop
from docshare.contract.problems import Problem

Overrides = dict[str, Any]

DownloadOption = Annotated[
    bool | None, typer.Option("--download/--no-download", help="Override the download setting of the file.")
]
PagesOption = Annotated[str | None, typer.Option(metavar="A-B|all", help="Override the page range of the file.")]
ReaderChoiceOption = Annotated[
    bool | None, typer.Option("--reader-choice/--no-reader-choice", help="Override the reader choice of the file.")
]

_ALL_PAGES = {"from": 0, "to": 0}  # on a variant, this serves the full document
_KEYS = ("allowDownload", "pageRange", "readerChoice")


def build_overrides(
    download: bool | None, pages: str | None, name: str = "--pages", *, choice: bool | None = None
) -> Overrides:
    """Return the overrides for ``--download``, ``--pages`` (``3-9``, ``5`` or ``all``) and ``--reader-choice``; None
    leaves one out.

    Raise Stop (2) for an invalid page range, with ``name`` as the option.
    """
    found: Overrides = {} if download is None else {"allowDownload": download}
    if pages is not None:
        from docshare.cli.commands.settings.values import parse_page_range

        typed = parse_page_range(pages, name)
        if typed is not None and not typed["from"]:
            raise Stop(ExitCode.USAGE, f"{name}: page numbers start at 1", hint="Use 3-9, 5, or all.")
        found["pageRange"] = _validate("pageRange", typed or _ALL_PAGES, name)
    return found if choice is None else {**found, "readerChoice": choice}


def read_overrides(text: str | None, download: bool | None, pages: str | None, choice: bool | None) -> Overrides | None:
    """Return the overrides from ``--overrides`` or from the other options, None without any.

    Raise Stop (2) for both, and for invalid values.
    """
    if text is None:
        return build_overrides(download, pages, choice=choice) or None
    if not (download is None and pages is None and choice is None):
        raise Stop(ExitCode.USAGE, "--overrides excludes --download, --pages and --reader-choice")
    return _parse_overrides(text)


def _parse_overrides(text: str) -> Overrides:
    """Return the overrides in a JSON object; raise Stop (2) for anything that a variant cannot override."""
    from docshare.cli.commands.settings.values import parse_json

    found = parse_json(text, "--overrides")
    if not isinstance(found, dict):
        raise Stop(ExitCode.USAGE, "--overrides must be an object", hint='Example: {"allowDownload":false}.')
    unknown = sorted(found.keys() - set(_KEYS))
    if unknown:
        known = ", ".join(_KEYS)
        raise Stop(ExitCode.USAGE, f"a variant overrides {known}, not {unknown[0]}", hint="Set it on the file.")
    return {key: _validate(key, value, f"--overrides: {key}") for key, value in found.items()}


def _validate(key: str, value: object, name: str) -> Any:
    from docshare.contract import fields  # not at the top: commands that only print do not need it

    try:
        return fields.parse_page_range(name, value) if key == "pageRange" else fields.parse_boolean(name, value)
    except Problem as problem:
        raise Stop(ExitCode.USAGE, problem.detail) from None


def format_page_range(overrides: Mapping[str, Any]) -> str:
    """Return the page range as typed: ``3-9``, ``all``, or an empty string if the file's own range applies."""
    window = overrides.get("pageRange")
    if not isinstance(window, dict):
        return ""
    return f"{window.get('from')}-{window.get('to')}" if window.get("to") else "all"


def describe_overrides(overrides: object) -> str:
    """Return the overrides as text: ``no download, pages 3-9, no reader choice``."""
    if not isinstance(overrides, dict):
        return ""
    download = {True: "download", False: "no download"}.get(overrides.get("allowDownload", ""), "")
    pages = format_page_range(overrides)
    choice = {True: "reader choice", False: "no reader choice"}.get(overrides.get("readerChoice", ""), "")
    return ", ".join(filter(None, (download, "all pages" if pages == "all" else pages and f"pages {pages}", choice)))
