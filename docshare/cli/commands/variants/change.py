"""Change, delete or redact variants of ``docshare variants``, one request for each, after a prompt."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from docshare.cli.commands.settings.overrides import KEYS, Overrides, validate_override
from docshare.cli.commands.settings.values import parse_json
from docshare.cli.commands.variants.names import FileVariant, short_id
from docshare.cli.framework import bulk, prompts
from docshare.cli.framework.context import Context
from docshare.cli.framework.dry_run import print_requests
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.terminal.output import Spec

if TYPE_CHECKING:
    from docshare.client import Client

Row = Mapping[str, Any]


def update_all(
    ctx: Context, client: "Client", found: Sequence[FileVariant], changes: Row, spec: Spec, *, dry_run: bool
) -> ExitCode:
    """Send ``changes`` for every variant and print the results; with ``dry_run``, print the requests."""
    body = json.dumps(changes, ensure_ascii=False)
    ctx.trace(f"request body: {body}")
    if dry_run:
        return preview_requests(ctx, found, "PUT", body=body)

    def work(each: FileVariant) -> Row:
        changed = client.variants.update(each.file, each.uuid, changes)
        if changed.get("downloadWarning"):
            ctx.warn(f"{short_id(each.variant)}: {changed['downloadWarning']}")
        return changed

    return run_each(ctx, client, found, spec, work)


def run_each(
    ctx: Context, client: "Client", found: Sequence[FileVariant], spec: Spec, work: Callable[[FileVariant], Row]
) -> ExitCode:
    """Call ``work`` for every variant, at the pace that the server allows, and print what it returns."""
    by_name = {short_id(each.variant): each for each in found}

    def work_at_pace(name: str) -> Row:
        client.pace()
        return work(by_name[name])

    return bulk.run_each(ctx, ctx.emitter(spec), list(by_name), "variant", work_at_pace)


def preview_requests(
    ctx: Context, found: Sequence[FileVariant], method: str, *, query: str = "", body: str = ""
) -> ExitCode:
    """Print the requests of ``--dry-run``."""
    requests = [(method, f"/api/v1/files/{each.file}/variants/{each.uuid}{query}", body) for each in found]
    return print_requests(ctx, requests)


def confirm(ctx: Context, verb: str, found: Sequence[FileVariant], remark: str = "") -> None:
    """Ask whether to ``verb`` the variants; raise Stop (2) without confirmation."""
    what = f'"{found[0].name}"' if len(found) == 1 else f"{len(found)} variants"
    prompts.confirm(ctx, f"{verb} {what}?{remark}" if ctx.may_prompt else f"{verb} {what}")


def confirm_redaction(ctx: Context, found: Sequence[FileVariant], typed: str | None, count: int | None) -> None:
    """Ask for confirmation of a redaction, which cannot be undone. ``typed``: the value of ``--confirm``; ``count``: of
    ``--count``. Raise Stop (2) without confirmation."""
    names = [each.name for each in found]
    if len(found) == 1 and typed == short_id(found[0].variant):
        typed = names[0]
    what = f'the label "{names[0]}"' if len(names) == 1 else f"{len(names)} labels"
    asked = ctx.may_prompt and not ctx.options.yes
    warning = f"Redacting {what} " + ("cannot be undone, and no new label can be set" if asked else "for good")
    prompts.confirm_irreversible(ctx, warning, names, typed=typed, count=count)


def parse_overrides(text: str) -> Overrides:
    """Return the overrides in the JSON object ``text`` of ``--overrides``, which has the keys of the API.

    Raise Stop (2) for anything that a variant cannot override.
    """
    found = parse_json(text, "--overrides")
    if not isinstance(found, dict):
        raise Stop(ExitCode.USAGE, "--overrides must be an object", hint='Example: {"allowDownload":false}.')
    unknown = sorted(found.keys() - set(KEYS))
    if unknown:
        known = ", ".join(KEYS)
        raise Stop(ExitCode.USAGE, f"a variant overrides {known}, not {unknown[0]}", hint="Set it on the file.")
    return {key: validate_override(key, value, f"--overrides: {key}") for key, value in found.items()}
