"""How the result of an upload is printed."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from docshare.cli.local.settings import find
from docshare.cli.terminal.output import Spec, chosen_format
from docshare.cli.terminal.text import clean, human_size

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context

PRINTED = {"url": "shareUrl", "id": "shortId", "uuid": "uuid"}
_EVERYTHING = ("path", "shareUrl", "shortId", "uuid", "size", "sha256", "status")
_WITH_STATUS = ("path", "shareUrl", "status")


def printed_word(value: str) -> str:
    """A word of ``--print``, or typer.BadParameter."""
    if value not in PRINTED:
        raise typer.BadParameter(f"{value!r} is not one of {', '.join(PRINTED)}.")
    return value


def asked_plain(context: "Context") -> bool:
    """Whether ``plain`` was asked for, unlike the same format as what a pipe gets anyway."""
    return bool(find(context, "format").value == "plain")


def _lines(row: Mapping[str, Any], context: "Context") -> Iterator[str]:
    screen = context.out_screen
    yield screen.paint("bold", clean(str(row["shareUrl"])))
    if context.options.quiet:
        return
    facts = [str(row["name"]), human_size(row["size"]), str(row.get("shortId") or row["uuid"])]
    if "skipped" in row:
        facts += ["shared before, not sent again"]
    else:
        facts += [f"version {row['contentVersion']}"] if "updated" in row else row["facts"]
    yield screen.paint("dim", f" {screen.glyph('·')} ".join(map(clean, facts)))


UPLOADED = Spec(
    plain=(PRINTED["url"],),
    fields=(
        *_EVERYTHING,
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
    human=_lines,
    once=("shareUrl",),
)


def upload_spec(context: "Context", key: str) -> Spec:
    """``UPLOADED`` for the format in effect; ``key`` is what a pipe gets of each file."""
    if chosen_format(context) in ("csv", "tsv"):
        return UPLOADED._replace(plain=_EVERYTHING)
    return UPLOADED._replace(plain=_WITH_STATUS if asked_plain(context) else (key,))


def left_out(path: str, pictures: Sequence[str]) -> str:
    """Return the warning about linked ``pictures`` that the conversion of ``path`` left out."""
    return f"{path}: linked pictures were left out: {', '.join(map(str, pictures))}; embed them to share them"
