"""Output format of an upload result."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from docshare.cli.local.settings import resolve_setting
from docshare.cli.terminal.output import Spec, resolve_format
from docshare.cli.terminal.text import clean
from docshare.contract.amounts import format_size

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context

PRINT_FIELDS = {"url": "shareUrl", "id": "shortId", "uuid": "uuid"}
_ALL_FIELDS = ("path", "shareUrl", "shortId", "uuid", "size", "sha256", "status")
_STATUS_FIELDS = ("path", "shareUrl", "status")


def validate_print_field(value: str) -> str:
    """Return a valid value of ``--print``, else raise typer.BadParameter."""
    if value not in PRINT_FIELDS:
        raise typer.BadParameter(f"{value!r} is not one of {', '.join(PRINT_FIELDS)}.")
    return value


def is_plain_requested(context: "Context") -> bool:
    """Return whether ``plain`` was requested explicitly, rather than being the default of a pipe."""
    return bool(resolve_setting(context, "format").value == "plain")


def _render_row(row: Mapping[str, Any], context: "Context") -> Iterator[str]:
    screen = context.out_screen
    yield screen.paint_link(str(row["shareUrl"]))
    if context.options.quiet:
        return
    facts = [str(row["name"]), format_size(row["size"]), str(row.get("shortId") or row["uuid"])]
    if "skipped" in row:
        facts += ["already uploaded, skipped"]
    else:
        facts += [f"version {row['contentVersion']}"] if "updated" in row else row["facts"]
    yield screen.paint("dim", f" {screen.glyph('·')} ".join(map(clean, facts)))


UPLOAD_SPEC = Spec(
    plain=(PRINT_FIELDS["url"],),
    fields=(
        *_ALL_FIELDS,
        "url",
        "message",
        "warning",
        "skipped",
        "updated",
        "recovered",
        "settingsApplied",
        "downloadWarning",
        "leftOut",
        "variants",
    ),
    id="shortId",
    human=_render_row,
    once=("shareUrl",),
)


def build_upload_spec(context: "Context", key: str) -> Spec:
    """Return ``UPLOAD_SPEC`` for the format in effect; ``key`` is the field that a pipe gets of each file."""
    if resolve_format(context) in ("csv", "tsv"):
        return UPLOAD_SPEC._replace(plain=_ALL_FIELDS)
    return UPLOAD_SPEC._replace(plain=_STATUS_FIELDS if is_plain_requested(context) else (key,))


def print_warnings(context: "Context", path: str, row: Mapping[str, Any]) -> None:
    """Print the warnings of the server about the document of ``path`` in the ``row`` of its upload."""
    pictures = row.get("leftOut")
    omitted = _describe_omitted_pictures(pictures) if pictures else None
    for text in filter(None, (row.get("warning"), omitted, row.get("downloadWarning"))):
        context.warn(f"{path}: {text}")


def _describe_omitted_pictures(pictures: Sequence[str]) -> str:
    return f"linked pictures were left out: {', '.join(map(str, pictures))}; embed them to share them"
