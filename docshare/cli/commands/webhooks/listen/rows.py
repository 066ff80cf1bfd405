"""Print deliveries for ``docshare webhooks listen``."""

import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from docshare.cli.terminal.output import Column, Spec
from docshare.cli.terminal.text import clean
from docshare.contract.wire import parse_instant

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context

_INDENT = " " * len("14:02:11")


def _format_time(row: Mapping[str, Any]) -> str:
    at = parse_instant(str(row.get("receivedAt", "")))
    return "" if at is None else time.strftime("%H:%M:%S", time.localtime(at / 1000))


def render_delivery(row: Mapping[str, Any], context: "Context") -> Iterator[str]:
    """Yield ``14:02:11 -> file.viewed deck.pdf``, then a line for each response."""
    paint = context.out_screen.paint
    words = [f"{_format_time(row)} -> {paint('bold', clean(str(row['kind'])))}", clean(str(row.get("fileName", "")))]
    if row["attempt"] > 1:
        words.append(paint("warn", f"(attempt {row['attempt']})"))
    if not row["verified"]:
        words.append(paint("error", f"NOT VERIFIED: {clean(str(row['flaw']))}"))
    yield " ".join(word for word in words if word)
    for forward in row["forwards"]:
        good = 200 <= forward["status"] < 300
        what = str(forward["status"] or forward.get("error", ""))
        yield f"{_INDENT} <- {paint('ok' if good else 'error', clean(what))} {forward['ms']} ms {clean(forward['url'])}"
        yield from (f"{_INDENT}    {clean(line)}" for line in forward.get("response", "").splitlines())
    if not row["forwards"] and "answer" in row:
        yield f"{_INDENT} <- {row['answer']}"


DELIVERY_SPEC = Spec(
    table=(
        Column("receivedAt", "RECEIVED", show=_format_time),
        Column("kind", "KIND", role="bold"),
        Column("fileName", "FILE", flexible=True),
        Column("verified", "VERIFIED", kind="flag"),
        Column("attempt", "ATTEMPT", rank=2),
        Column("answer", "RESPONSE", rank=1),
        Column("id", "ID", role="id", rank=3),
    ),
    plain=("receivedAt", "kind", "fileName", "verified", "id", "attempt", "answer", "forwards"),
    fields=("flaw", "body"),
    id="id",
    human=render_delivery,
)
