"""Create several links of ``docshare variants create``: the rows of a CSV file, numbered links, or several labels."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docshare.cli.commands.variants.make import VariantCreator
from docshare.cli.commands.variants.plan import LinkOptions, check_page_ranges, is_outcome_unknown, resolve_links
from docshare.cli.commands.variants.recipients import RecipientSheet
from docshare.cli.commands.variants.result_file import Result, ResultFile
from docshare.cli.commands.variants.rows import build_links_spec
from docshare.cli.commands.variants.single import build_body
from docshare.cli.framework.arguments import FileResolver
from docshare.cli.framework.context import Context
from docshare.cli.framework.dry_run import format_body, print_requests
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.local.storage import make_directory

if TYPE_CHECKING:
    from docshare.client import Client

_RECHECK_DELAYS = (2.0, 5.0)  # seconds before each check of what a crashed run may have left behind


@dataclass(frozen=True)
class VariantOptions:
    """How to create the links of a sheet.

    ``source``: its name in messages; ``pictures``: the directory of ``--qr``; the rest are options of the command.
    """

    source: str
    label_column: str = "label"
    out: Path | None = None
    pictures: Path | None = None
    skip_duplicates: bool = False
    partial: bool = False


def preview_requests(ctx: Context, file: str, sheet: RecipientSheet, order: VariantOptions) -> ExitCode:
    """Print the requests of ``--dry-run``, without rows that already have a link."""
    before = {} if order.out is None else ResultFile(order.out, sheet, order.label_column, pictures=False).load()
    done = {label for label, result in before.items() if result["uuid"]}
    bodies = [build_body(each.label, each.overrides) for each in sheet.recipients if each.label not in done]
    with ctx.client() as client:
        path = f"/api/v1/files/{FileResolver(ctx, client).resolve(file)}/variants"
        return print_requests(ctx, [("POST", path, format_body(body)) for body in bodies])


def create_all(ctx: Context, client: "Client", name: str, sheet: RecipientSheet, order: VariantOptions) -> ExitCode:
    """Create and print the links of ``sheet`` for the file ``name``; return 0, or 12 if some rows got none.

    An error that stops the run is raised after all finished rows are printed and in the result file.
    """
    pictures = order.pictures
    with ExitStack() as held:
        results = None
        if order.out is not None:
            results = ResultFile(order.out, sheet, order.label_column, pictures=pictures is not None)
            if not held.enter_context(results.lock(ctx)):
                raise Stop(ExitCode.CONFLICT, f"another process is using {order.out}")
        before = {} if results is None else results.load()
        if pictures is not None:
            make_directory(pictures)  # fail before the first link if the directory cannot be created
        existing = _fetch_variants(ctx, client, name, before)
        link_options = LinkOptions(order.skip_duplicates, order.partial, order.source)
        links = resolve_links(ctx, sheet, before, existing, link_options)
        check_page_ranges(ctx, client, name, links, order.source)
        printer = ctx.emitter(build_links_spec(ctx))
        mint = VariantCreator(
            ctx, client, name, links, known=existing, results=results, pictures=pictures, printer=printer
        )
        return mint.run()


def _fetch_variants(
    ctx: Context, client: "Client", name: str, before: Mapping[str, Result]
) -> Sequence[Mapping[str, Any]]:
    """Return the variants of the file, after waiting for a request that an earlier run may have left pending."""
    found = client.variants.list(name)
    for seconds in _RECHECK_DELAYS:
        if is_outcome_unknown(before, found):
            ctx.note("the last run ended during a request; checking whether its link was created")
            ctx.sleep(seconds)
            found = client.variants.list(name)
    return found
