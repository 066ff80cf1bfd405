"""``docshare upload --variants-csv``: create links for single recipients right after the upload."""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from docshare.cli.commands.upload.settings import try_delete
from docshare.cli.commands.variants.make import VariantCreator
from docshare.cli.commands.variants.plan import LinkOptions, check_page_ranges, resolve_links
from docshare.cli.commands.variants.recipients import describe_source, read_sheet
from docshare.cli.commands.variants.rows import build_links_spec
from docshare.cli.framework import failures
from docshare.cli.framework.context import Context
from docshare.cli.framework.exits import ExitCode, Stop, exit_code
from docshare.cli.framework.sources import fetch_plan
from docshare.cli.terminal.output import Emitter
from docshare.client.errors import ClientError
from docshare.contract.plans import Plan
from docshare.contract.problems import Problem

if TYPE_CHECKING:
    from docshare.cli.commands.upload.send import UploadResult
    from docshare.client import Client

_OPTION = "--variants-csv"


class UploadLinks:
    """Creates the links for the rows of the CSV file ``source``.

    Raises Stop (2) for unusable rows before anything is uploaded. ``rollback``: delete a new file for good if any of
    its links fails. ``ending``: 12 once a link has failed for a file that is kept.
    """

    def __init__(self, context: Context, source: str, *, rollback: bool = False) -> None:
        self._ctx = context
        self._source = source
        self._rollback = rollback
        self._sheet = read_sheet(context, source, label_column="label", delimiter=",", defaults={}, option=_OPTION)
        resolve_links(context, self._sheet, {}, [], self._link_options(skip_duplicates=False))
        self._rows: Sequence[Mapping[str, Any]] | None = None
        self.exit_code = ExitCode.OK

    def _link_options(self, *, skip_duplicates: bool) -> LinkOptions:
        return LinkOptions(
            skip_duplicates, allow_partial=False, source=f"{_OPTION} {describe_source(self._source)}", has_options=False
        )

    def list_requests(self) -> list[tuple[str, str, str]]:
        """Return the requests that a real run would send."""
        bodies = ({"label": each.label, "overrides": each.overrides} for each in self._sheet.recipients)
        path = "/api/v1/files/{uuid}/variants"
        return [("POST", path, json.dumps({key: value for key, value in body.items() if value})) for body in bodies]

    def require_plan(self, client: "Client") -> None:
        """Raise Stop (6) before the upload if the account's plan has no variants."""
        plan = fetch_plan(client)
        if plan is not None and plan < Plan.PRO:
            raise Stop(
                ExitCode.PLAN,
                f"{_OPTION} requires the pro plan, and this account has the {plan.tier} plan; nothing was uploaded",
                hint=f"Leave out {_OPTION}, or upgrade.",
                code="plan_required",
            )

    def create_or_roll_back(self, client: "Client", done: "UploadResult") -> "UploadResult":
        """With ``rollback``, create the links of a new file before its result is printed.

        If a link fails, delete the file and return the failure. Return every other result unchanged.
        """
        row = done.row
        if not self._rollback or row is None or "skipped" in row or "updated" in row:
            return done
        try:
            mint = self._make_creator(client, str(row["uuid"]), None)
            ending, self._rows = mint.run(), mint.rows()
            if ending == ExitCode.OK:
                return done
            error: Problem | ClientError | Stop = Stop(ending, "not all recipient links could be created")
        except (Problem, ClientError, Stop) as caught:
            error = caught
        if not try_delete(client, str(row["uuid"])):
            self.exit_code = ExitCode.PARTIAL
            self._rows = self._rows or []
            self._report_failure(str(row["uuid"]), error, self._rows)
            return done
        failure = failures.describe(self._ctx, error)
        detail = f"its recipient links could not be created, so it was deleted: {failure.detail}"
        return replace(done, row=None, failure=Stop(exit_code(error), detail, hint=failure.hint, code=failure.code))

    def create(self, client: "Client", printer: Emitter, file: dict[str, Any]) -> None:
        """Create the links of an uploaded ``file``, unless ``create_or_roll_back`` did.

        Add them to ``file`` as ``variants`` with ``--json``, else print them. On failure, keep the file and print the
        command that creates the missing links.
        """
        name = str(file["uuid"])
        own = (
            self._ctx.emitter(build_links_spec(self._ctx))
            if printer.is_default_shape or printer.format == "jsonl"
            else None
        )
        rows = self._rows
        if rows is None:
            rows = self._create_now(client, name, own)
        elif own is not None:
            for row in rows:
                own.emit_row(row)
        if printer.format == "json":
            file["variants"] = rows

    def _create_now(self, client: "Client", name: str, own: Emitter | None) -> Sequence[Mapping[str, Any]]:
        mint: VariantCreator | None = None
        try:
            mint = self._make_creator(client, name, own)
            self.exit_code = mint.run()
        except (Problem, ClientError, Stop) as error:
            self.exit_code = ExitCode.PARTIAL
            self._report_failure(name, error, [] if mint is None else mint.rows())
        return [] if mint is None else mint.rows()

    def _make_creator(self, client: "Client", name: str, own: Emitter | None) -> VariantCreator:
        """Return the creator of the links of a file.

        Raise Stop (2) for pages that the document does not have, which is not known before the upload.
        """
        existing = client.variants.list(name)
        # A file that was uploaded earlier may already have these links.
        options = self._link_options(skip_duplicates=True)
        links = resolve_links(self._ctx, self._sheet, {}, existing, options)
        check_page_ranges(self._ctx, client, name, links, options.source)
        return VariantCreator(self._ctx, client, name, links, known=existing, printer=own)

    def _report_failure(self, name: str, error: Exception, rows: Sequence[Mapping[str, Any]]) -> None:
        failure = failures.describe(self._ctx, error)
        total = len(self._sheet.recipients)
        missing = total - sum("error" not in row for row in rows)
        links = f"{missing} of {total} recipient links"
        self._ctx.err(f"error: uploaded, but {links} could not be created: {failure.detail}", "error")
        line = shlex.join(["docshare", "variants", "create", name, "--from-csv", self._source, "--skip-duplicates"])
        self._ctx.err(f"hint: {line}")
