"""``docshare wait``: stand still until somebody has read, for scripts that go on then."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from docshare.cli.commands.audience import LinkRecipient, list_recipients, page_time
from docshare.cli.commands.readership.sessions import (
    SEEN_MS,
    build_session_spec,
    explain_forbidden,
    fetch_labels,
    read_number,
)
from docshare.cli.commands.variants.names import VARIANT_HELP, VariantResolver
from docshare.cli.framework.app import App
from docshare.cli.framework.arguments import FILE_HELP, FileResolver
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.durations import duration_option
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.polling import MIN_INTERVAL, PollSchedule, poll
from docshare.cli.terminal.text import format_duration, format_page_count, parse_duration

if TYPE_CHECKING:
    from docshare.client import Client

Row = Mapping[str, Any]

app = App()

_INTERVAL = 2.0  # seconds between two questions while sessions come in
_MAX_INTERVAL = 15.0  # ... and while none do


class _Goal(NamedTuple):
    """The session that is waited for: of ``person``, or of anybody; long enough on ``page``, or altogether; of
    ``any_version`` of the document, or of the newest."""

    person: LinkRecipient | None
    page: int | None
    min_ms: float
    any_version: bool

    def met_by(self, session: Row) -> bool:
        if self.person is not None and not self.person.owns(session):
            return False
        if self.page is None:
            return read_number(session, "totalTimeMs") >= self.min_ms
        return page_time(session, self.page) >= max(self.min_ms, SEEN_MS)

    def hoped(self, version: int) -> str:
        """What is waited for, in words; in that version of the document, 0 for any."""
        return f"{'somebody' if self.person is None else self.person.name} has {self._deed(version)}"

    def missed(self, version: int) -> str:
        """The same, which did not happen."""
        return f"{'nobody has' if self.person is None else f'{self.person.name} has not'} {self._deed(version)}"

    def _deed(self, version: int) -> str:
        what = "it" if self.page is None else f"page {self.page}"
        long = f" for {format_duration(int(self.min_ms))}" if self.min_ms else ""
        return f"read {what}{long}" + (f" in version {version}" if version > 1 else "")


@app.command("wait", spec=build_session_spec({}))
def wait(
    file: Annotated[str, typer.Argument(metavar="FILE", help=FILE_HELP)],
    variant: Annotated[
        str | None, typer.Option(metavar="VARIANT", help=f"Who came by this link: {VARIANT_HELP}")
    ] = None,
    invite: Annotated[str | None, typer.Option(metavar="EMAIL", help="Who was invited by this address.")] = None,
    page: Annotated[int | None, typer.Option(min=1, metavar="N", help="This page is the one to be read.")] = None,
    min_time: Annotated[str, duration_option("Read for so long in one go: that --page, or else altogether.")] = "0s",
    any_version: Annotated[
        bool, typer.Option("--any-version", help="A reading of an older version of the document counts too.")
    ] = False,
    new: Annotated[bool, typer.Option("--new", help="What was read before now does not count.")] = False,
    timeout: Annotated[str | None, duration_option("Give up after this time, with code 124.")] = None,
    interval: Annotated[str | None, duration_option("Ask this often (2s), at least 1s; slower while quiet.")] = None,
    give_up_after: Annotated[str, duration_option("End with code 11 after failing for so long.")] = "10m",
) -> ExitCode:
    """Wait until somebody has read a file, and print the session.

    [Pro] Without options anybody will do; the first session that fits ends it, also one from before. It must be of the
    document's newest version: a replacement meanwhile moves the goal to the new one, with a note. --any-version takes
    older ones too, and does without the right to see the file. A session is known once it has ended: 10 seconds after
    the page was closed, a minute after it was hidden, or after five minutes of silence. Network errors are logged and
    retried; if there was no answer at all before the timeout, the code is 11. A pipe gets the session as docshare
    readership sessions prints it.

    Examples:

      docshare wait @last
      docshare wait slug:offer --variant label:Ann --page 3 --min-time 20s --timeout 48h && ./send-invoice
      docshare wait slug:offer --invite ann@example.com --new --json | jq .totalTimeMs
    """
    ctx = current_context()
    if variant is not None and invite is not None:
        raise Stop(ExitCode.USAGE, "--variant and --invite exclude each other")
    printer = ctx.emitter(build_session_spec({}))
    client = ctx.client()
    name = FileResolver(ctx, client).one(file)
    with explain_forbidden():
        person = _find_person(ctx, client, name, variant, invite, page)
        goal = _Goal(person, page, parse_duration(min_time) * 1000, any_version)
        rounds = PollSchedule(
            interval=_INTERVAL if interval is None else max(parse_duration(interval), MIN_INTERVAL),
            slowest=_MAX_INTERVAL,
            timeout=None if timeout is None else parse_duration(timeout),
            patience=parse_duration(give_up_after),
        )
        found = _wait_for_session(ctx, client, name, goal, rounds, new=new)
    if printer.for_people:
        ctx.emit(found, build_session_spec(fetch_labels(client, name)))
    else:
        printer.row(found)
    return ExitCode.OK


def _find_person(
    ctx: Context, client: "Client", name: str, variant: str | None, invite: str | None, page: int | None
) -> LinkRecipient | None:
    """Who is waited for, None for anybody. Somebody who does not exist, or whose link does not show the page, must not
    look like silence: Stop (3) and (2)."""
    if variant is None and invite is None and page is None:
        return None
    facts = client.files.show(name)
    if variant is not None:
        found = VariantResolver(ctx, client, name).one(variant).variant
        known = list_recipients(facts, [found], [])
        if not known:
            raise Stop(ExitCode.USAGE, f"the link of {variant} is revoked", hint="See: docshare variants restore")
    else:
        known = list_recipients(
            facts, [], [row for row in client.invites.list(name) if _is_invite_of(row, invite)] if invite else []
        )
        if invite is not None and not known:
            raise Stop(ExitCode.NOT_FOUND, f"nobody is invited as {invite}", hint="See: docshare invites list FILE")
    person = known[0] if known else None
    pages = person.pages if person else range(1, int(read_number(facts, "totalPages")) + 1)
    if page is not None and pages and page not in pages:
        raise Stop(ExitCode.USAGE, f"--page {page} can never be read: shown are {pages[0]} to {pages[-1]}")
    return person


def _is_invite_of(invite: Row, address: str) -> bool:
    return str(invite.get("email", "")).casefold() == address.strip().casefold()


class _SessionSearch:
    """The way through the sessions of a file up to the first that meets the goal (``met``), in the newest ``version``
    of the document as far as that is known: 0 if it does not matter."""

    def __init__(self, context: Context, client: "Client", file: str, goal: _Goal, cursor: int) -> None:
        self._ctx = context
        self._client = client
        self._file = file
        self._goal = goal
        self._cursor = cursor
        self._sure = False
        self.version = 0
        self.met: Row | None = None

    def go_on(self) -> int:
        """Look at what is new; returns how many sessions that were."""
        self._sure = self._goal.any_version
        count = 0
        for session in self._client.readership.sessions_after(self._file, self._cursor):
            if self._fits(session):
                self.met = session
                break
            self._cursor = session["id"]  # only now: a failure before must not lose it
            count += 1
        if not self.version:  # behind the sessions: they tell a foreign file from one that is not there
            self._look()
        return count

    def _fits(self, session: Row) -> bool:
        version = int(read_number(session, "contentVersion"))
        fits = version >= self.version and self._goal.met_by(session)
        if fits or version > self.version:
            self._look()
        return fits and version >= self.version

    def _look(self) -> None:
        """Ask for the version, once in a round. Stop (2) when the page that is waited for is gone."""
        if self._sure:
            return
        facts = self._client.files.show(self._file)
        before, self.version = self.version, int(read_number(facts, "contentVersion"))
        self._sure = True
        if before and self.version > before:
            self._ctx.note(f"the document was replaced: waiting until {self._goal.hoped(self.version)}")
        total = int(read_number(facts, "totalPages"))
        if self._goal.page is not None and self._goal.page > total > 0:
            why = f"the document has {format_page_count(total)}"
            raise Stop(ExitCode.USAGE, f"--page {self._goal.page} can never be read: {why}")


def _wait_for_session(
    ctx: Context, client: "Client", name: str, goal: _Goal, rounds: PollSchedule, *, new: bool
) -> Row:
    """The first session that meets ``goal``; Stop (124) when the time is over."""
    cursor = 0
    if new:
        for session in client.readership.sessions_after(name):
            cursor = session["id"]
    with client.fork(retries=0) as poller:
        walk = _SessionSearch(ctx, poller, name, goal, cursor)
        told = False
        for _ in poll(ctx, poller, walk.go_on, rounds):
            if walk.met is not None:
                return walk.met
            if not told:
                ctx.note(f"waiting until {goal.hoped(walk.version)}")
                told = True
    raise Stop(ExitCode.DEADLINE, f"the time is over: {goal.missed(walk.version)}")
