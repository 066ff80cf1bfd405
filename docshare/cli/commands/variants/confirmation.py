"""Ask before variants are revoked, deleted or redacted."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from docshare.cli.commands.variants.names import FileVariant, short_id
from docshare.cli.framework import prompts

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context


def confirm(ctx: "Context", verb: str, found: Sequence[FileVariant], remark: str = "") -> None:
    """Ask whether to ``verb`` the variants; raise Stop (2) without confirmation."""
    what = f'"{found[0].name}"' if len(found) == 1 else f"{len(found)} variants"
    prompts.confirm(ctx, f"{verb} {what}?{remark}" if ctx.may_prompt else f"{verb} {what}")


def confirm_redaction(ctx: "Context", found: Sequence[FileVariant], typed: str | None, count: int | None) -> None:
    """Ask for confirmation that cannot be undone. ``typed``: the value of ``--confirm``; ``count``: of ``--count``."""
    names = [each.name for each in found]
    if len(found) == 1 and typed == short_id(found[0].variant):
        typed = names[0]
    what = f'the label "{names[0]}"' if len(names) == 1 else f"{len(names)} labels"
    asked = ctx.may_prompt and not ctx.options.yes
    warning = f"Redacting {what} " + ("cannot be undone, and no new label can be set" if asked else "for good")
    prompts.confirm_irreversible(ctx, warning, names, typed=typed, count=count)
