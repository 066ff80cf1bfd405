"""Writing settings: read, merge, write, read back; the difference and what the server made of it are told."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from docshare.cli.commands.settings.advice import describe_ineffective_domains, describe_prompt_change
from docshare.cli.commands.settings.changes import SettingChanges, find_needed_plans
from docshare.cli.commands.settings.declarations import VIEWER
from docshare.cli.commands.settings.describe import (
    Difference,
    describe_body,
    describe_difference,
    describe_mismatches,
    find_differences,
    mask,
)
from docshare.cli.commands.settings.rows import MESSAGES, WRITE_SPEC, SettingsPrinter
from docshare.cli.framework import bulk
from docshare.cli.framework.arguments import base_of
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.client.errors import ClientError, Refused
from docshare.contract.limits import MANAGE_EXPIRY_MS
from docshare.contract.plans import DAY
from docshare.contract.problems import Problem
from docshare.contract.settings import SETTINGS
from docshare.contract.wire import parse_instant

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context
    from docshare.client import Client

Row = dict[str, Any]


class WriteOptions(NamedTuple):
    """How to write. ``replace``: ``viewerSettings`` as given, not merged into what is stored; ``pictures``: as given,
    but the file keeps its own logo and background picture; ``read_back``: compare afterwards; ``diff``: tell old and
    new values; ``unowned``: with a manage token, which can do nothing else."""

    replace: bool = False
    pictures: bool = False
    read_back: bool = True
    diff: bool = False
    unowned: bool = False


class SettingsWriter:
    """Writes ``changes`` to files. ``strayed``: how many of them the server keeps in another way than sent."""

    def __init__(self, context: "Context", client: "Client", changes: SettingChanges, way: WriteOptions) -> None:
        if not changes:
            raise Stop(ExitCode.USAGE, "there is nothing to set", hint="See: docshare settings schema")
        if way.unowned:
            _check_manage_token_limits(context, changes.fields)
        self._ctx = context
        self._client = client
        self._changes = changes
        self._way = way
        self.strayed = 0

    def planned(self, file: str) -> tuple[str, str, str]:
        """The request that ``write`` would make: method, path, and its body without the password."""
        import json

        _, body = self._prepared(file)
        return "PUT", f"/api/v1/files/{file}/settings", json.dumps(mask(body))

    def write(self, file: str) -> Row:
        """Write the changes to one file; returns the row to print. Raises what the client raises; Stop (2)."""
        self._client.pace()
        before, body = self._prepared(file)
        try:
            self._client.settings.write(file, body)
        except Refused as refusal:
            raise add_hint(refusal, body) from refusal
        after = self._read_back(file)
        strayed = [] if after is None else list(describe_mismatches(after, body))
        self.strayed += bool(strayed)
        warnings = [
            *strayed,
            *filter(None, [describe_ineffective_domains(body, after or {}), (after or {}).get("downloadWarning")]),
        ]
        for warning in warnings:
            self._ctx.warn(f"{file}: {warning}")
        prompt = describe_prompt_change(body, after or {})
        if prompt:
            self._ctx.note(prompt)
        changed = [] if before is None else find_differences(before, body)
        shown = after or before or {}
        row: Row = {"uuid": shown.get("uuid", file), "sent": mask(body)}
        row |= {"changed": _format_differences(changed)} if self._way.diff else {}
        row |= {"warnings": warnings} if warnings else {}
        row |= {} if after is None else {**_build_address(after, body), "file": after}
        return row | {"name": shown.get("shortId", file), MESSAGES: self._said(body, before, changed)}

    def _prepared(self, file: str) -> tuple[Row | None, Row]:
        """The File as it is, if anything asks for it, and the body to send."""
        merging = self._changes.touches_viewer and not self._way.replace
        before = None
        if (merging or self._way.diff) and not self._way.unowned:
            before = self._client.files.show(file)
        # A file that a manage token can write is on the Free plan, where viewerSettings hold nothing to be merged with.
        stored = before.get(VIEWER) if before is not None and not self._way.replace else None
        stored = stored if isinstance(stored, Mapping) else None
        return before, self._changes.body(stored, pictures_only=self._way.pictures)

    def _read_back(self, file: str) -> Row | None:
        if not self._way.read_back or self._way.unowned:
            return None
        try:
            return self._client.files.show(file)
        except (Problem, ClientError) as error:
            self._ctx.warn(f"{file}: written, but it could not be read back: {error}")
            self.strayed += 1
            return None

    def _said(self, body: Row, before: Row | None, changed: list[Difference]) -> list[str]:
        """The words for people on stdout; elsewhere the differences are told on stderr."""
        told = [describe_difference(self._ctx, change) for change in changed]
        if self._way.diff:
            self._note(told)
            return told or ["nothing new"]
        self._note([words for change, words in zip(changed, told, strict=True) if change.key not in SETTINGS])
        return describe_body(self._ctx, body, before)

    def _note(self, told: list[str]) -> None:
        if not self._ctx.stdout_tty:
            for words in told:
                self._ctx.note(words)


def _build_address(file: Mapping[str, Any], body: Mapping[str, Any]) -> Row:
    """The address that a new link name makes, where the server keeps it."""
    link, slug = str(file.get("shareUrl", "")), body.get("slug")
    return {"address": f"{base_of(link)}/{slug}"} if slug and link and file.get("slug") == slug else {}


def write_all(context: "Context", writer: SettingsWriter, files: list[str], *, strict: bool, dry_run: bool) -> ExitCode:
    """Write to every file, or show what would be sent. Returns 12 if some failed, and with ``strict`` 13 if the server
    kept other values than were sent."""
    if dry_run:
        return bulk.print_requests(context, map(writer.planned, files))
    ending = bulk.run_each(context, SettingsPrinter(context, WRITE_SPEC), files, "id", writer.write)
    if ending == ExitCode.OK and strict and writer.strayed:
        return ExitCode.CHECK_FAILED
    return ending


def _format_differences(changed: list[Difference]) -> Row:
    return {change.key: {"from": change.old, "to": change.new} for change in changed}


def add_hint(refusal: Refused, body: Mapping[str, Any]) -> Refused:
    """The refusal of a settings write, with a hint that says what of ``body`` it is about."""
    if refusal.code == "plan_required":
        needs = "; ".join(f"{', '.join(keys)}: {plan.tier}" for plan, keys in find_needed_plans(body).items())
        refusal.hint = (
            f"What was sent and the plan it needs: {needs}. Leave it out, or upgrade." if needs else refusal.hint
        )
    elif refusal.status == 409 and body.get("slug"):
        refusal.hint = "The slug is already in use (a file in the trash keeps its own). Choose another."
    elif refusal.status == 410:
        refusal.hint = "The link is dead. On Pro a burned one lives again with: docshare replace FILE PATH"
    return refusal


def _check_manage_token_limits(context: "Context", fields: Mapping[str, Any]) -> None:
    """A manage token cannot make a link permanent; a later end than it may set would be moved, silently."""
    if fields.get("neverExpire"):
        raise Stop(ExitCode.USAGE, "a manage token cannot set 'never'; the link lives for 7 days at most")
    expiry = parse_instant(str(fields.get("deleteAt", "")))
    if expiry is not None and expiry > context.now() + MANAGE_EXPIRY_MS:
        days = MANAGE_EXPIRY_MS // DAY
        raise Stop(ExitCode.USAGE, f"with a manage token the link can end in {days} days at the latest")
