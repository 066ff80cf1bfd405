"""The settings that ``docshare upload`` applies to each new file, and the errors when that fails."""

import json
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from docshare.cli.commands.settings.changes import find_needed_plans
from docshare.cli.commands.settings.describe import describe_values, format_set_command
from docshare.cli.commands.settings.gather import gather
from docshare.cli.commands.settings.options import UploadSettings
from docshare.cli.commands.settings.stored import describe_ineffective_domains, list_values, mask
from docshare.cli.commands.settings.write import add_hint
from docshare.cli.framework.arguments import base_of
from docshare.cli.framework.context import Context
from docshare.cli.framework.exits import ExitCode, Stop, exit_code
from docshare.cli.framework.inputs import STDIN
from docshare.cli.framework.sources import fetch_plan
from docshare.client.errors import ClientError, Refused
from docshare.contract.problems import Problem

if TYPE_CHECKING:
    from docshare.client import Client

Row = Mapping[str, Any]

DEFAULT_FACTS = ("never expires", "no password")  # a fresh upload has neither expiry nor password
_DOWNLOAD_SETTINGS = ("pageRange", "watermark")
_FIRST_KEYS = ("deleteAt", "neverExpire", "password")
# A refusal with one of these codes would also apply to every further file.
_FATAL_CODES = ("plan_required", "unauthorized", "insufficient_scope", "rate_limited")


class SettingsWriteError(Stop):
    """A file was uploaded, but its settings were not written.

    ``row``: the upload result, None if the file was deleted; ``general``: every further file would fail in the same
    way.
    """

    def __init__(self, exit: ExitCode, detail: str, *, hint: str, row: Row | None, general: bool) -> None:
        super().__init__(exit, detail, hint=hint, code="settings")
        self.row = row
        self.is_fatal = general


class NewSettings:
    """Writes the settings of the command line to each new file.

    ``rollback``: delete a file whose settings are refused; otherwise keep it and print the command that sets them.
    """

    def __init__(self, body: Mapping[str, Any], *, rollback: bool, protect: str) -> None:
        self._body = dict(body)
        self._rollback = rollback
        self._protect = protect

    def format_body(self) -> str:
        """Return the request body without the password."""
        return json.dumps(mask(self._body))

    def describe(self, context: Context) -> Sequence[str]:
        """Return the facts to print below the link: expiry, password, and the other settings."""
        first = {key: self._body[key] for key in _FIRST_KEYS if key in self._body}
        rest = {key: value for key, value in self._body.items() if key not in first}
        expiry = {key: value for key, value in first.items() if key != "password"} or {"neverExpire": True}
        values = list_values({**expiry, "password": self._body.get("password", "")})
        others = list_values(rest)
        words = describe_values(context, values)
        return [*words, "settings: " + ", ".join(describe_values(context, others))] if rest else words

    def require_plan(self, client: "Client") -> None:
        """Raise Stop (6) before the upload if the account's plan is too low."""
        needs = find_needed_plans(self._body)
        if not needs:
            return
        plan = fetch_plan(client)
        if plan is None:
            return
        lacking = [f"{', '.join(keys)}: {needed.tier}" for needed, keys in needs.items() if needed > plan]
        if lacking:
            raise Stop(
                ExitCode.PLAN,
                f"the {plan.tier} plan is too low for these settings; nothing was uploaded",
                hint=f"Needed: {'; '.join(lacking)}. Leave them out, or upgrade.",
                code="plan_required",
            )

    def apply(self, client: "Client", row: Row) -> Row:
        """Write the settings to the file of an upload result and return the result with ``settingsApplied``.

        Raise SettingsWriteError if they could not be written.
        """
        try:
            client.settings.write(str(row["uuid"]), self._body)
        except Refused as refusal:
            raise self._make_error(client, row, add_hint(refusal, self._body)) from refusal
        except (Problem, ClientError) as error:
            raise self._make_error(client, row, error) from error
        custom = {"url": f"{base_of(str(row['shareUrl']))}/{self._body['slug']}"} if self._body.get("slug") else {}
        return {**row, **custom, "settingsApplied": True, **self._fetch_warning(client, row)}

    def _fetch_warning(self, client: "Client", row: Row) -> Row:
        """Return the server's warning about the copies that readers download, if any."""
        if not any(self._body.get(key) for key in _DOWNLOAD_SETTINGS):
            return {}
        with suppress(Problem, ClientError):
            found = client.files.show(str(row["uuid"])).get("downloadWarning")
            return {"downloadWarning": found} if found else {}
        return {}

    def _make_error(self, client: "Client", row: Row, error: Problem | ClientError) -> SettingsWriteError:
        general = isinstance(error, Problem) and error.code in _FATAL_CODES
        if self._rollback and try_delete(client, str(row["uuid"])):
            detail = f"its settings were not written, so it was deleted: {error.detail}"
            return SettingsWriteError(exit_code(error), detail, hint=error.hint, row=None, general=general)
        name = str(row.get("shortId") or row["uuid"])
        detail = f"uploaded as {name}, but its settings were not written: {error.detail}"
        hint = f"{error.hint} Set them with: {format_set_command(name, self._body, self._protect)}".strip()
        failed = {**row, "settingsApplied": False}
        return SettingsWriteError(ExitCode.PARTIAL, detail, hint=hint, row=failed, general=general)


def try_delete(client: "Client", file: str) -> bool:
    """Delete a file that was just uploaded for good; return whether it worked."""
    try:
        client.files.delete(file, purge=True)
    except (Problem, ClientError):
        return False
    return True


def build_new_settings(
    context: Context, given: UploadSettings, *, rollback: bool, linked: bool, single: bool, stdin_taken: bool
) -> NewSettings | None:
    """Return the settings that the options of ``docshare upload`` ask for, or None.

    ``linked``: recipient links are created, so ``rollback`` has a use even without settings. Raise Stop (2) for invalid
    options, and for a slug where there may be several files.
    """
    changes = gather(context, given, ids_on_stdin=stdin_taken)
    if not changes:
        if rollback and not linked:
            raise Stop(ExitCode.USAGE, "--rollback requires settings or --variants-csv")
        return None
    body = changes.build_body()
    if body.get("slug") and not single:
        raise Stop(ExitCode.USAGE, "--slug requires exactly one path")
    asks = bool(body.get("requireEmail") or body.get("gateFields"))
    warning = describe_ineffective_domains(body, {**body, "requireEmail": asks})
    if warning:
        context.warn(warning)
    from_file = given.password_file not in (None, STDIN)
    protect = f"--password-file {shlex.quote(str(given.password_file))}" if from_file else "--password-prompt"
    return NewSettings(body, rollback=rollback, protect=protect)
