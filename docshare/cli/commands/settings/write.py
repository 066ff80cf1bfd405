"""Write settings: read, merge, write, read back, and report the differences."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from docshare.cli.commands.settings.changes import SettingChanges, find_needed_plans
from docshare.cli.commands.settings.declarations import VIEWER
from docshare.cli.commands.settings.describe import describe_difference, describe_values
from docshare.cli.commands.settings.rows import MESSAGES, WRITE_SPEC, SettingsPrinter
from docshare.cli.commands.settings.stored import (
    Difference,
    describe_ineffective_domains,
    describe_mismatches,
    describe_prompt_change,
    find_differences,
    list_values,
    mask,
)
from docshare.cli.framework import bulk
from docshare.cli.framework.arguments import FileResolver, base_of
from docshare.cli.framework.context import Context
from docshare.cli.framework.dry_run import print_requests
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.client.errors import ClientError, Refused
from docshare.contract.limits import MANAGE_EXPIRY_MS
from docshare.contract.plans import DAY
from docshare.contract.problems import Problem
from docshare.contract.settings import SETTINGS
from docshare.contract.wire import parse_instant

if TYPE_CHECKING:
    from docshare.client import Client

Row = Mapping[str, Any]


class WriteOptions(NamedTuple):
    """How to write settings.

    ``replace``: send ``viewerSettings`` as given instead of merging; ``pictures``: replace, but keep the file's own
    logo and background image; ``read_back``: verify afterwards; ``diff``: show old and new values;
    ``uses_manage_token``: use a manage token, which permits only the write itself.
    """

    replace: bool = False
    pictures: bool = False
    read_back: bool = True
    diff: bool = False
    uses_manage_token: bool = False


class SettingsWriter:
    """Writes ``changes`` to files. ``mismatches``: number of files whose stored values differ from the sent ones."""

    def __init__(self, context: Context, client: "Client", changes: SettingChanges, way: WriteOptions) -> None:
        if not changes:
            raise Stop(ExitCode.USAGE, "no settings given", hint="See: docshare settings schema")
        if way.uses_manage_token:
            _check_manage_token_limits(context, changes.fields)
        self._ctx = context
        self._client = client
        self._changes = changes
        self._options = way
        self.mismatches = 0

    def describe_request(self, file: str) -> tuple[str, str, str]:
        """Return the request that ``write`` would send: method, path, and body without the password."""
        _, body = self._prepare(file)
        return "PUT", f"/api/v1/files/{file}/settings", json.dumps(mask(body))

    def write(self, file: str) -> Row:
        """Write the changes to one file and return the row to print. Raises Stop (2) and what the client raises."""
        self._client.pace()
        before, body = self._prepare(file)
        try:
            self._client.settings.write(file, body)
        except Refused as refusal:
            raise add_hint(refusal, body) from refusal
        after = self._read_back(file)
        strayed = [] if after is None else list(describe_mismatches(after, body))
        self.mismatches += bool(strayed)
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
        values = list_values(body, before)
        shown = after or before or {}
        row: dict[str, Any] = {"uuid": shown.get("uuid", file), "sent": mask(body)}
        row |= {"changed": _format_differences(changed)} if self._options.diff else {}
        row |= {"warnings": warnings} if warnings else {}
        row |= {} if after is None else {**_build_address(after, body), "file": after}
        return row | {"name": shown.get("shortId", file), MESSAGES: self._describe(changed, values)}

    def _prepare(self, file: str) -> tuple[Row | None, Row]:
        """Return the current File, if it is needed, and the body to send."""
        merging = self._changes.has_viewer_changes and not self._options.replace
        before = None
        if (merging or self._options.diff) and not self._options.uses_manage_token:
            before = self._client.files.show(file)
        # A file with a manage token is on the Free plan, which has no viewerSettings to merge with.
        stored = before.get(VIEWER) if before is not None and not self._options.replace else None
        stored = stored if isinstance(stored, Mapping) else None
        return before, self._changes.build_body(stored, pictures_only=self._options.pictures)

    def _read_back(self, file: str) -> Row | None:
        if not self._options.read_back or self._options.uses_manage_token:
            return None
        try:
            return self._client.files.show(file)
        except (Problem, ClientError) as error:
            self._ctx.warn(f"{file}: settings were written, but could not be verified: {error}")
            self.mismatches += 1
            return None

    def _describe(self, changed: list[Difference], values: list[tuple[str, Any]]) -> list[str]:
        """Return the text for people on stdout; on a pipe, print the differences on stderr."""
        lines = [describe_difference(self._ctx, change) for change in changed]
        if self._options.diff:
            self._note(lines)
            return lines or ["no changes"]
        self._note([words for change, words in zip(changed, lines, strict=True) if change.key not in SETTINGS])
        return describe_values(self._ctx, values)

    def _note(self, lines: list[str]) -> None:
        if not self._ctx.stdout_tty:
            for words in lines:
                self._ctx.note(words)


def _build_address(file: Mapping[str, Any], body: Mapping[str, Any]) -> Row:
    """Return the custom link of a new slug, if the server stored it."""
    link, slug = str(file.get("shareUrl", "")), body.get("slug")
    return {"address": f"{base_of(link)}/{slug}"} if slug and link and file.get("slug") == slug else {}


def write_settings(
    context: Context,
    words: Sequence[str],
    changes: SettingChanges,
    options: WriteOptions,
    *,
    strict: bool,
    dry_run: bool,
) -> ExitCode:
    """Write ``changes`` to the files named by ``words``, or print the requests.

    Return 12 if some files failed, and with ``strict`` 13 if the server stored other values than were sent.
    """
    client = context.client()
    writer = SettingsWriter(context, client, changes, options)
    files = FileResolver(context, client).resolve_all(words)
    if dry_run:
        return print_requests(context, map(writer.describe_request, files))
    ending = bulk.run_each(context, SettingsPrinter(context, WRITE_SPEC), files, "id", writer.write)
    if ending == ExitCode.OK and strict and writer.mismatches:
        return ExitCode.CHECK_FAILED
    return ending


def _format_differences(changed: list[Difference]) -> Row:
    return {change.key: {"from": change.old, "to": change.new} for change in changed}


def add_hint(refusal: Refused, body: Mapping[str, Any]) -> Refused:
    """Return the error of a settings write with a hint about the parts of ``body`` that caused it."""
    if refusal.code == "plan_required":
        needs = "; ".join(f"{', '.join(keys)}: {plan.tier}" for plan, keys in find_needed_plans(body).items())
        refusal.hint = (
            f"Settings and the plan they require: {needs}. Leave them out, or upgrade." if needs else refusal.hint
        )
    elif refusal.status == 409 and body.get("slug"):
        refusal.hint = "The slug is already in use (a file in the trash keeps its own). Choose another."
    elif refusal.status == 410:
        refusal.hint = "The link has ended. On Pro, reactivate a burned link with: docshare replace FILE PATH"
    return refusal


def _check_manage_token_limits(context: Context, fields: Mapping[str, Any]) -> None:
    """Raise Stop (2) for an expiry that a manage token cannot set; the server would silently shorten it."""
    if fields.get("neverExpire"):
        raise Stop(ExitCode.USAGE, "a manage token cannot set 'never'; the link expires after 7 days at most")
    expiry = parse_instant(str(fields.get("deleteAt", "")))
    if expiry is not None and expiry > context.now() + MANAGE_EXPIRY_MS:
        days = MANAGE_EXPIRY_MS // DAY
        raise Stop(ExitCode.USAGE, f"a manage token can set an expiry of at most {days} days")
