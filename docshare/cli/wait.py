"""``docshare wait``: stand still until somebody has read, for scripts that go on then."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docshare.cli.arguments import FILE_HELP, FileNames
from docshare.cli.audience import Person, page_time, people
from docshare.cli.context import Context, current
from docshare.cli.durations import duration_option
from docshare.cli.exits import ExitCode, Stop
from docshare.cli.polling import Rounds, asked
from docshare.cli.readers import SEEN_MS, labels_of, number, owner_only, session_spec
from docshare.cli.text import human_duration, seconds
from docshare.cli.typer_compat import App
from docshare.cli.variant_names import VARIANT_HELP, VariantNames

if TYPE_CHECKING:
    from docshare.client import Client

Row = Mapping[str, Any]

app = App()

_INTERVAL = 2.0  # seconds between two questions while sessions come in
_SLOWEST = 15.0  # ... and while none do


@dataclass(frozen=True)
class _Goal:
    """The session that is waited for: of ``person``, or of anybody; long enough on ``page``, or altogether."""

    person: Person | None
    page: int | None
    min_ms: float

    def met_by(self, session: Row) -> bool:
        if self.person is not None and not self.person.owns(session):
            return False
        if self.page is None:
            return number(session, "totalTimeMs") >= self.min_ms
        return page_time(session, self.page) >= max(self.min_ms, SEEN_MS)

    def in_words(self) -> str:
        who = "somebody" if self.person is None else self.person.name
        what = "it" if self.page is None else f"page {self.page}"
        return f"{who} has read {what}" + (f" for {human_duration(int(self.min_ms))}" if self.min_ms else "")


@app.command("wait", spec=session_spec({}))
def wait(
    file: Annotated[str, typer.Argument(metavar="FILE", help=FILE_HELP)],
    variant: Annotated[
        str | None, typer.Option(metavar="VARIANT", help=f"Who came by this link: {VARIANT_HELP}")
    ] = None,
    invite: Annotated[str | None, typer.Option(metavar="EMAIL", help="Who was invited by this address.")] = None,
    page: Annotated[int | None, typer.Option(min=1, metavar="N", help="This page is the one to be read.")] = None,
    min_time: Annotated[str, duration_option("Read for so long in one go: that --page, or else altogether.")] = "0s",
    new: Annotated[bool, typer.Option("--new", help="What was read before now does not count.")] = False,
    timeout: Annotated[str | None, duration_option("Give up after this time, with code 124.")] = None,
    interval: Annotated[str | None, duration_option("Ask this often (2s); slower while quiet.")] = None,
    give_up_after: Annotated[str, duration_option("End with code 11 after failing for so long.")] = "10m",
) -> ExitCode:
    """Wait until somebody has read a file, and print the session.

    [Pro] Without options anybody will do; the first session that fits ends it, also one from before. A session is known
    once it has ended: a minute after the page was closed, or after five minutes of silence. Failures of the network are
    told and borne. A pipe gets the session as docshare readership sessions prints it.

    Examples:

      docshare wait @last
      docshare wait slug:offer --variant label:Ann --page 3 --min-time 20s --timeout 48h && ./send-invoice
      docshare wait slug:offer --invite ann@example.com --new --json | jq .totalTimeMs
    """
    ctx = current()
    if variant is not None and invite is not None:
        raise Stop(ExitCode.USAGE, "--variant and --invite exclude each other")
    printer = ctx.emitter(session_spec({}))
    client = ctx.client()
    name = FileNames(ctx, client).one(file)
    with owner_only():
        goal = _Goal(_person(ctx, client, name, variant, invite, page), page, seconds(min_time) * 1000)
        rounds = Rounds(
            interval=_INTERVAL if interval is None else seconds(interval),
            slowest=_SLOWEST,
            timeout=None if timeout is None else seconds(timeout),
            patience=seconds(give_up_after),
        )
        found = _first(ctx, client, name, goal, rounds, new=new)
    if found is None:
        ctx.note(f"nobody has: {goal.in_words()}")
        return ExitCode.DEADLINE
    if printer.for_people:
        ctx.emit(found, session_spec(labels_of(client, name)))
    else:
        printer.row(found)
    return ExitCode.OK


def _person(
    ctx: Context, client: "Client", name: str, variant: str | None, invite: str | None, page: int | None
) -> Person | None:
    """Who is waited for, None for anybody. Somebody who does not exist, or whose link does not show the page, must not
    look like silence: Stop (3) and (2)."""
    if variant is None and invite is None and page is None:
        return None
    facts = client.files.show(name)
    if variant is not None:
        found = VariantNames(ctx, client, name).one(variant).variant
        known = people(facts, [found], [])
        if not known:
            raise Stop(ExitCode.USAGE, f"the link of {variant} is revoked", hint="See: docshare variants restore")
    else:
        known = people(facts, [], [row for row in client.invites.list(name) if _is(row, invite)] if invite else [])
        if invite is not None and not known:
            raise Stop(ExitCode.NOT_FOUND, f"nobody is invited as {invite}", hint="See: docshare invites list FILE")
    person = known[0] if known else None
    pages = person.pages if person else range(1, int(number(facts, "totalPages")) + 1)
    if page is not None and pages and page not in pages:
        raise Stop(ExitCode.USAGE, f"--page {page} can never be read: shown are {pages[0]} to {pages[-1]}")
    return person


def _is(invite: Row, address: str) -> bool:
    return str(invite.get("email", "")).casefold() == address.strip().casefold()


class _Walk:
    """The way through the sessions of a file up to the first that meets the goal (``met``)."""

    def __init__(self, client: "Client", file: str, goal: _Goal, cursor: int) -> None:
        self._client = client
        self._file = file
        self._goal = goal
        self._cursor = cursor
        self.met: Row | None = None

    def go_on(self) -> int:
        """Look at what is new; returns how many sessions that were."""
        count = 0
        for session in self._client.readership.sessions_after(self._file, self._cursor):
            self._cursor = session["id"]
            count += 1
            if self._goal.met_by(session):
                self.met = session
                break
        return count


def _first(ctx: Context, client: "Client", name: str, goal: _Goal, rounds: Rounds, *, new: bool) -> Row | None:
    """The first session that meets ``goal``; None when the time is over."""
    cursor = 0
    if new:
        for session in client.readership.sessions_after(name):
            cursor = session["id"]
    with client.fork(retries=0) as poller:
        walk = _Walk(poller, name, goal, cursor)
        told = False
        for _ in asked(ctx, poller, walk.go_on, rounds):
            if walk.met is not None:
                break
            if not told:
                ctx.note(f"waiting until {goal.in_words()}")
                told = True
        return walk.met
