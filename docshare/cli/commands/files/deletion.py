"""Delete files after a confirmation, into the trash or for good."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from docshare.cli.framework import bulk, prompts
from docshare.cli.framework.arguments import FileResolver
from docshare.cli.framework.context import Context
from docshare.cli.framework.dry_run import print_requests
from docshare.cli.framework.exits import ExitCode
from docshare.cli.terminal.output import Spec
from docshare.contract.plans import PLAN_LIMITS, Plan

if TYPE_CHECKING:
    from docshare.client import Client


@dataclass(frozen=True)
class Consent:
    """How the command line confirms a deletion: ``--purge``, ``--confirm`` and ``--count``."""

    purge: bool
    typed: str | None
    number: int | None


def delete_files(ctx: Context, files: Sequence[str], given: Consent, spec: Spec, *, dry_run: bool) -> ExitCode:
    """Delete ``files`` and print each result; with ``dry_run``, print the requests."""
    client = ctx.client()
    ids = FileResolver(ctx, client).resolve_all(files)
    if dry_run:
        return print_requests(
            ctx, [("DELETE", f"/api/v1/files/{file}{'?purge=1' if given.purge else ''}", "") for file in ids]
        )
    _confirm_deletion(ctx, client, ids, files[0] if files[0] != "-" else ids[0], given)
    printer = ctx.emitter(spec)
    # The response has no id. JSON prints it unchanged, and on a terminal the confirmation names the file.
    is_named = printer.format not in ("json", "jsonl") and not printer.is_for_people

    def work(file: str) -> Mapping[str, Any]:
        client.pace()
        result = client.files.delete(file, given.purge)
        return {"file": file, **result} if is_named else result

    return bulk.run_each(ctx, printer, ids, "file", work)


def _confirm_deletion(ctx: Context, client: "Client", ids: list[str], word: str, given: Consent) -> None:
    """Raise Stop (2) unless deleting ``ids`` is confirmed; ``word``: the single file as the user named it."""
    what = f"{len(ids)} files" if len(ids) > 1 else word
    if len(ids) == 1 and ctx.may_prompt and not ctx.options.yes and given.typed is None:
        what = prompts.describe_file(client, ids[0], word)
    if given.purge:
        names = [word] if len(ids) == 1 and given.typed != ids[0] else ids
        prompts.confirm_irreversible(ctx, f"Deleting {what} for good", names, typed=given.typed, count=given.number)
        return
    if ctx.options.yes or not ctx.may_prompt:
        prompts.confirm(ctx, f"Deleting {what}")
        return
    keeps = _has_trash(str(client.account.show().get("tier", "")))
    prompts.confirm(ctx, f"Move {what} to the trash?" if keeps else f"Delete {what} for good (Free has no trash)?")


def _has_trash(tier: str) -> bool:
    plan = next((plan for plan in Plan if plan.tier == tier), None)
    return plan is None or PLAN_LIMITS[plan].trash_ms is not None
