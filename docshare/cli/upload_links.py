"""``docshare upload --variants-csv``: links for single recipients, right after the upload."""

import json
import shlex
from typing import TYPE_CHECKING, Any

from docshare.cli import errors
from docshare.cli.exits import ExitCode, Stop
from docshare.cli.link_plan import Wishes, planned_links
from docshare.cli.minting import Mint, links_spec
from docshare.cli.output import Emitter
from docshare.cli.recipients import named, read_sheet
from docshare.client.errors import ClientError
from docshare.contract.problems import Problem

if TYPE_CHECKING:
    from docshare.cli.context import Context
    from docshare.client import Client


class NewLinks:
    """The links that the rows of the CSV file ``source`` want. Stop (2) for rows that cannot be used: nothing was
    uploaded yet. ``ending``: 12 once some links could not be made."""

    def __init__(self, context: "Context", source: str) -> None:
        self._ctx = context
        self._source = source
        self._sheet = read_sheet(context, source, label_column="label", delimiter=",", defaults={})
        wishes = Wishes(skip_duplicates=False, partial=False, source=named(source))
        planned_links(context, self._sheet, {}, [], wishes)
        self.ending = ExitCode.OK

    def planned(self) -> list[tuple[str, str, str]]:
        """The requests that would be made."""
        bodies = ({"label": each.label, "overrides": each.overrides} for each in self._sheet.recipients)
        path = "/api/v1/files/{uuid}/variants"
        return [("POST", path, json.dumps({key: value for key, value in body.items() if value})) for body in bodies]

    def make(self, client: "Client", printer: Emitter, file: dict[str, Any]) -> None:
        """Make the links of an uploaded ``file``; with ``--json`` they join it as ``variants``, else they are printed.

        What fails is told with the line that goes on from there: the file stays.
        """
        name = str(file["uuid"])
        whole = printer.format == "json"
        own = self._ctx.emitter(links_spec(self._ctx)) if printer.natural or printer.format == "jsonl" else None
        mint: Mint | None = None
        try:
            standing = client.variants.list(name)
            # A file that was shared before may have its links already.
            wishes = Wishes(skip_duplicates=True, partial=False, source=named(self._source))
            links = planned_links(self._ctx, self._sheet, {}, standing, wishes)
            mint = Mint(self._ctx, client, name, links, known=standing, printer=own)
            self.ending = mint.run()
        except (Problem, ClientError, Stop) as error:
            self.ending = ExitCode.PARTIAL
            self._tell(name, error)
        if whole and mint is not None:
            file["variants"] = mint.rows()

    def _tell(self, name: str, error: Exception) -> None:
        failure = errors.describe(self._ctx, error)
        self._ctx.err(f"error: the file is shared, but not for everybody: {failure.detail}", "error")
        line = shlex.join(["docshare", "variants", "create", name, "--from-csv", self._source, "--skip-duplicates"])
        self._ctx.err(f"hint: {line}")
