"""What ``events list`` and ``events tail`` share: the choice of streams, the order of rows, and how a row is shown."""

import heapq
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from docshare.cli.exits import ExitCode, Stop
from docshare.cli.output import Column, Spec
from docshare.cli.text import clean, human_duration, seconds
from docshare.client.errors import Refused
from docshare.contract.streams import STREAMS
from docshare.contract.wire import parse_instant

if TYPE_CHECKING:
    from docshare.cli.arguments import FileNames
    from docshare.cli.context import Context
    from docshare.client import Client

Row = dict[str, Any]

TYPES_HELP = "view, download, gate [Pro], several with commas, or all."
ALL = "all"
_WIDEST_TYPE = max(map(len, STREAMS))
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


@dataclass(frozen=True)
class Choice:
    """The ``streams`` in the order of the specification; ``all``: they were not named one by one."""

    streams: tuple[str, ...]
    all: bool


def chosen_streams(text: str) -> Choice:
    """Read ``--type``; Stop (2) for an unknown word."""
    words = [word.strip() for word in text.split(",")]
    if words == [ALL]:
        return Choice(tuple(STREAMS), all=True)
    strange = [word for word in words if word not in STREAMS]
    if strange:
        raise Stop(ExitCode.USAGE, f"--type: no such stream: {', '.join(strange)}", hint=f"Use {TYPES_HELP}")
    return Choice(tuple(name for name in STREAMS if name in words), all=False)


def allowed_streams(context: "Context", client: "Client", choice: Choice, *, require_all: bool) -> tuple[str, ...]:
    """The streams without those that the plan does not include, if ``all`` were asked for; a note says so once.

    Raises ``Refused`` (plan_required) if such a stream was named, or with ``require_all``.
    """
    kept = []
    for name in choice.streams:
        try:
            if choice.all and STREAMS[name].plan > min(stream.plan for stream in STREAMS.values()):
                client.events.page(name, None, 1)
            kept.append(name)
        except Refused as refusal:
            if refusal.code != "plan_required" or require_all:
                raise
            context.note(f"without the {name} stream: {refusal.detail}")
    return tuple(kept)


def checked_file(context: "Context", client: "Client", names: "FileNames", word: str | None) -> str | None:
    """The UUID for ``--file``. The feed has no rows for an unknown id, so it is looked up first: a typo must not look
    like silence. A credential that may not look it up (scope) is taken at its word."""
    if word is None:
        return None
    name = names.one(word)
    try:
        return str(client.files.show(name)["uuid"])
    except Refused as refusal:
        if refusal.code != "insufficient_scope":
            raise
        context.note(f"cannot check that {name} exists: {refusal.detail}")
        return name


@dataclass(frozen=True)
class Since:
    """``--since``: an ``id`` of one stream, or a moment in milliseconds since 1970 (``at``)."""

    id: int | None = None
    at: int | None = None


def parse_since(text: str, now: int) -> Since:
    """Read ``5123``, ``2h``, ``2026-11-20`` (here, midnight) or a full datetime; Stop (2) for anything else."""
    if text.isascii() and text.isdigit():
        return Since(id=int(text))
    if _DATE.fullmatch(text):
        text = _local_midnight(text)
    moment = parse_instant(text)
    if moment is not None:
        return Since(at=moment)
    try:
        return Since(at=now - int(seconds(text) * 1000))
    except ValueError:
        hint = "Use an id such as 5123, a time ago such as 2h, or a date such as 2026-11-20."
        raise Stop(ExitCode.USAGE, f"--since: {text!r} is none of these", hint=hint) from None


def parse_until(text: str, now: int) -> int:
    """Read ``--until``: a date, a datetime, ``18:30`` (the next one) or ``2h`` from now; in milliseconds since 1970."""
    clock = re.fullmatch(r"(\d\d):(\d\d)", text, re.ASCII)
    if clock:
        today = datetime.fromtimestamp(now / 1000).astimezone()
        try:
            moment = today.replace(hour=int(clock[1]), minute=int(clock[2]), second=0, microsecond=0)
        except ValueError:
            raise Stop(ExitCode.USAGE, f"--until: {text!r} is no time of day") from None
        at = int(moment.timestamp() * 1000)
        return at if at > now else at + 86_400_000
    stamp = parse_instant(_local_midnight(text) if _DATE.fullmatch(text) else text)
    if stamp is not None:
        return stamp
    try:
        return now + int(seconds(text) * 1000)
    except ValueError:
        raise Stop(ExitCode.USAGE, f"--until: {text!r} is neither a date, a time of day nor a duration") from None


def _local_midnight(text: str) -> str:
    try:
        return datetime.fromisoformat(text).astimezone().isoformat()
    except ValueError:
        return text


def moment_of(row: Mapping[str, Any]) -> int | None:
    """``readAt`` in milliseconds; None for the rare row without it."""
    return parse_instant(str(row.get("readAt", "")))


def merged(streams: Sequence[Iterable[Row]]) -> Iterator[Row]:
    """Rows of several streams by ``readAt``; the order inside a stream stays as it is.

    A view becomes a row when its session ends, so ``readAt`` may go back inside a stream, or be missing: such a row
    comes right after the one before it.
    """
    return heapq.merge(*streams, key=lambda row: moment_of(row) or 0)


def _when(row: Mapping[str, Any]) -> str:
    at = moment_of(row)
    return "" if at is None else time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at / 1000))


def _pages(row: Mapping[str, Any]) -> str:
    count = row.get("pagesViewed")
    return "" if not isinstance(count, int) else f"{count} page" if count == 1 else f"{count} pages"


def _fields(row: Mapping[str, Any]) -> str:
    fields = row.get("fields")
    return " ".join(f"{key}={value}" for key, value in fields.items()) if isinstance(fields, Mapping) else ""


def live_line(row: Mapping[str, Any], now: int, *, several: bool) -> str:
    """``14:02:11  view  deck.pdf  DE  3 pages  1m 42s  #2``, with the date if it was not today."""
    when = _when(row)
    today = time.strftime("%Y-%m-%d ", time.localtime(now / 1000))
    spent = row.get("timeMs")
    kind = str(row.get("type", ""))
    parts = (
        when.removeprefix(today) or "--:--:--",
        kind.ljust(_WIDEST_TYPE) if several else kind,
        row.get("fileName"),
        row.get("country"),
        _pages(row),
        human_duration(spent) if isinstance(spent, int) else "",
        _fields(row),
        f"#{row['id']}",
    )
    return "  ".join(clean(str(part)) for part in parts if part)


def feed_spec(*, several: bool = False) -> Spec:
    """How rows of the feed are printed; ``several``: of more than one stream, so that their types line up."""

    def human(row: Mapping[str, Any], context: "Context") -> Iterator[str]:
        yield live_line(row, context.now(), several=several)

    return Spec(
        table=(
            Column("readAt", "WHEN", show=_when),
            Column("type", "TYPE", rank=2),
            Column("fileName", "FILE", role="bold", flexible=True),
            Column("country", "COUNTRY", rank=4),
            Column("pagesViewed", "PAGES", rank=3),
            Column("timeMs", "TIME", kind="duration", rank=3),
            Column("fields", "FIELDS", flexible=True, rank=1, show=_fields),
            Column("id", "ID", role="id"),
        ),
        plain=("type", "id", "readAt", "fileUuid", "fileName", "country", "pagesViewed", "timeMs", "fields"),
        id="id",
        empty="no events yet",
        human=human,
    )
