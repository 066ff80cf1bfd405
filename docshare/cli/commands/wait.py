"""``docshare wait``: block a script until someone has read a file."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from docshare.cli.commands.readership.sessions import build_session_spec, explain_forbidden, fetch_labels
from docshare.cli.commands.variants.names import VARIANT_HELP, VariantResolver
from docshare.cli.framework.app import App
from docshare.cli.framework.arguments import FILE_HELP, FileResolver
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.options import duration_option
from docshare.cli.framework.polling import MIN_INTERVAL, PollSchedule, poll
from docshare.cli.terminal.text import parse_duration
from docshare.client.recipients import SEEN_MS, LinkRecipient, list_recipients, page_time, read_number
from docshare.contract.amounts import format_plural
from docshare.contract.wire import format_duration

if TYPE_CHECKING:
    from docshare.client import Client

Row = Mapping[str, Any]

app = App()

_INTERVAL = 2.0  # seconds between two polls while sessions arrive
_MAX_INTERVAL = 15.0  # seconds between two polls, at most, while none arrive


class _Goal(NamedTuple):
    """The session to wait for: by ``person`` or anyone, long enough on ``page`` or in total, and in ``any_version`` of
    the document or the newest."""

    person: LinkRecipient | None
    page: int | None
    min_ms: float
    any_version: bool

    def is_met_by(self, session: Row) -> bool:
        if self.person is not None and not self.person.is_reader_in(session):
            return False
        if self.page is None:
            return read_number(session, "totalTimeMs") >= self.min_ms
        return page_time(session, self.page) >= max(self.min_ms, SEEN_MS)

    def describe(self, version: int) -> str:
        """Describe the goal as reached in ``version`` of the document (0 for any)."""
        return f"{'someone' if self.person is None else self.person.name} has {self._describe_reading(version)}"

    def describe_missed(self, version: int) -> str:
        """Describe the goal as not reached."""
        subject = "no one has" if self.person is None else f"{self.person.name} has not"
        return f"{subject} {self._describe_reading(version)}"

    def _describe_reading(self, version: int) -> str:
        what = "it" if self.page is None else f"page {self.page}"
        long = f" for {format_duration(int(self.min_ms))}" if self.min_ms else ""
        return f"read {what}{long}" + (f" in version {version}" if version > 1 else "")


@app.command("wait", spec=build_session_spec({}))
def wait(
    file: Annotated[str, typer.Argument(metavar="FILE", help=FILE_HELP)],
    variant: Annotated[
        str | None, typer.Option(metavar="VARIANT", help=f"Wait for the reader of this link: {VARIANT_HELP}")
    ] = None,
    invite: Annotated[
        str | None, typer.Option(metavar="EMAIL", help="Wait for the person invited at this email address.")
    ] = None,
    page: Annotated[int | None, typer.Option(min=1, metavar="N", help="Wait until this page was read.")] = None,
    min_time: Annotated[str, duration_option("Minimum time in one session, on --page or in total.")] = "0s",
    any_version: Annotated[
        bool, typer.Option("--any-version", help="Also count older versions of the document.")
    ] = False,
    new: Annotated[bool, typer.Option("--new", help="Ignore sessions that already exist.")] = False,
    timeout: Annotated[str | None, duration_option("Exit with code 124 after this time.")] = None,
    interval: Annotated[str | None, duration_option("Time between polls, at least 1s. The default is 2s.")] = None,
    give_up_after: Annotated[str, duration_option("Exit with code 11 after failing for this long.")] = "10m",
) -> ExitCode:
    """Wait until someone has read a file, and print the session.

    [Pro] Without options, the first session of any reader matches, including one that already exists. The session must
    be of the newest version of the document; if the document is replaced, the command prints a note and waits
    for the new version. --any-version also accepts older versions and needs no permission to show the file. The server
    reports a session once it has ended: 10 seconds after the page was closed, one minute after it was hidden, or five
    minutes after the last activity. Network errors are logged and retried; if the server never responded before the
    timeout, the exit code is 11. Piped output has the columns of docshare readership sessions.

    Examples:

      docshare wait @last
      docshare wait slug:offer --variant label:Ann --page 3 --min-time 20s --timeout 48h && ./send-invoice
      docshare wait slug:offer --invite ann@example.com --new --json | jq .totalTimeMs
    """
    ctx = current_context()
    if variant is not None and invite is not None:
        raise Stop(ExitCode.USAGE, "--variant and --invite cannot be used together")
    ctx.is_endless = True
    printer = ctx.emitter(build_session_spec({}))
    client = ctx.client()
    name = FileResolver(ctx, client).resolve(file)
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
    if printer.is_for_people:
        ctx.emit(found, build_session_spec(fetch_labels(client, name)))
    else:
        printer.emit_row(found)
    return ExitCode.OK


def _find_person(
    ctx: Context, client: "Client", name: str, variant: str | None, invite: str | None, page: int | None
) -> LinkRecipient | None:
    """Return the recipient to wait for, or None for anyone.

    Raise Stop (3) if the recipient does not exist, and Stop (2) if their link does not show the page, because the wait
    would never end.
    """
    if variant is None and invite is None and page is None:
        return None
    facts = client.files.show(name)
    if variant is not None:
        found = VariantResolver(ctx, client, name).resolve(variant).variant
        known = list_recipients(facts, [found], [])
        if not known:
            raise Stop(
                ExitCode.USAGE, f"the link of variant {variant} is revoked", hint="See: docshare variants restore"
            )
    else:
        known = list_recipients(
            facts, [], [row for row in client.invites.list(name) if _is_invite_of(row, invite)] if invite else []
        )
        if invite is not None and not known:
            raise Stop(ExitCode.NOT_FOUND, f"{invite} is not invited", hint="See: docshare invites list FILE")
    person = known[0] if known else None
    pages = person.pages if person else range(1, int(read_number(facts, "totalPages")) + 1)
    if page is not None and pages and page not in pages:
        raise Stop(ExitCode.USAGE, f"--page {page} is out of range: the link shows pages {pages[0]} to {pages[-1]}")
    return person


def _is_invite_of(invite: Row, address: str) -> bool:
    return str(invite.get("email", "")).casefold() == address.strip().casefold()


class _SessionSearch:
    """A search through the sessions of a file for the first that meets the goal.

    ``found``: that session, None before; ``version``: the newest known version of the document, 0 if any counts.
    """

    def __init__(self, context: Context, client: "Client", file: str, goal: _Goal, cursor: int) -> None:
        self._ctx = context
        self._client = client
        self._file = file
        self._goal = goal
        self._cursor = cursor
        self._is_version_fresh = False
        self.version = 0
        self.found: Row | None = None

    def read_new_sessions(self) -> int:
        """Check the new sessions and return their number."""
        self._is_version_fresh = self._goal.any_version
        count = 0
        for session in self._client.readership.sessions_after(self._file, self._cursor):
            if self._is_match(session):
                self.found = session
                break
            self._cursor = session["id"]  # not earlier: after a failure the session must be checked again
            count += 1
        if not self.version:  # after the sessions, whose errors distinguish another account's file from a missing one
            self._refresh_version()
        return count

    def _is_match(self, session: Row) -> bool:
        version = int(read_number(session, "contentVersion"))
        fits = version >= self.version and self._goal.is_met_by(session)
        if fits or version > self.version:
            self._refresh_version()
        return fits and version >= self.version

    def _refresh_version(self) -> None:
        """Fetch the version, once per poll. Raise Stop (2) if the document no longer has the page to wait for."""
        if self._is_version_fresh:
            return
        facts = self._client.files.show(self._file)
        before, self.version = self.version, int(read_number(facts, "contentVersion"))
        self._is_version_fresh = True
        if before and self.version > before:
            self._ctx.note(f"the document was replaced; waiting until {self._goal.describe(self.version)}")
        total = int(read_number(facts, "totalPages"))
        if self._goal.page is not None and self._goal.page > total > 0:
            why = f"the document has {format_plural(total, 'page')}"
            raise Stop(ExitCode.USAGE, f"--page {self._goal.page} is out of range: {why}")


def _wait_for_session(
    ctx: Context, client: "Client", name: str, goal: _Goal, rounds: PollSchedule, *, new: bool
) -> Row:
    """Return the first session that meets ``goal``. Raise Stop (124) after the timeout."""
    cursor = 0
    if new:
        for session in client.readership.sessions_after(name):
            cursor = session["id"]
    with client.fork(retries=0) as poller:
        search = _SessionSearch(ctx, poller, name, goal, cursor)
        announced = False
        for _ in poll(ctx, poller, search.read_new_sessions, rounds):
            if search.found is not None:
                return search.found
            if not announced:
                ctx.note(f"waiting until {goal.describe(search.version)}")
                announced = True
    raise Stop(ExitCode.DEADLINE, f"timed out: {goal.describe_missed(search.version)}")
