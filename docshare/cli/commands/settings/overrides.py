"""The settings that a variant overrides for its reader: parse them and describe them."""

import re
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from docshare.cli.framework.exits import ExitCode, Stop
from docshare.contract.patterns import Pattern
from docshare.contract.problems import Problem

Overrides = dict[str, Any]

DownloadOption = Annotated[
    bool | None, typer.Option("--download/--no-download", help="Override the download setting of the file.")
]
PagesOption = Annotated[str | None, typer.Option(metavar="A-B|all", help="Override the page range of the file.")]
ReaderChoiceOption = Annotated[
    bool | None, typer.Option("--reader-choice/--no-reader-choice", help="Override the reader choice of the file.")
]

_PAGE_RANGE = Pattern(r"([0-9]+)(?:-([0-9]+))?", re.ASCII)
_ALL_PAGES = {"from": 0, "to": 0}  # on a variant, this serves the full document
KEYS = ("allowDownload", "pageRange", "readerChoice")


def build_overrides(
    download: bool | None, pages: str | None, name: str = "--pages", *, choice: bool | None = None
) -> Overrides:
    """Return the overrides for ``--download``, ``--pages`` (``3-9``, ``5`` or ``all``) and ``--reader-choice``; None
    leaves one out.

    Raise Stop (2) for an invalid page range, with ``name`` as the option.
    """
    found: Overrides = {} if download is None else {"allowDownload": download}
    if pages is not None:
        typed = parse_page_range(pages, name)
        if typed is not None and not typed["from"]:
            raise Stop(ExitCode.USAGE, f"{name}: page numbers start at 1", hint="Use 3-9, 5, or all.")
        found["pageRange"] = validate_override("pageRange", typed or _ALL_PAGES, name)
    return found if choice is None else {**found, "readerChoice": choice}


def parse_page_range(text: str, name: str) -> dict[str, int] | None:
    """Parse ``3-9`` or ``5`` as a page range, and ``all`` as None (clear). Raise Stop (2) for anything else."""
    if text == "all":
        return None
    match = _PAGE_RANGE.fullmatch(text)
    if match is None or len(text) > 20:
        raise Stop(ExitCode.USAGE, f"{name}: {text!r} is not a page range", hint="Use 3-9, 5, or all.")
    return {"from": int(match[1]), "to": int(match[2] or match[1])}


def validate_override(key: str, value: object, name: str) -> Any:
    """Return the value of the override ``key``; raise Stop (2) for an invalid one."""
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
