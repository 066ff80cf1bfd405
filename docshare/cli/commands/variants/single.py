"""Create one link of ``docshare variants create``."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from docshare.cli.commands.settings.overrides import Overrides
from docshare.cli.commands.variants.rows import build_links_spec
from docshare.cli.framework.arguments import FileResolver
from docshare.cli.framework.dry_run import preview_request
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.client.errors import Refused

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context
    from docshare.client import Client


def create_one(ctx: "Context", file: str, label: str | None, overrides: Overrides, *, dry_run: bool) -> ExitCode:
    """Create and print one link; with ``dry_run``, print the request."""
    with ctx.client() as client:
        name = FileResolver(ctx, client).resolve(file)
        if dry_run:
            return preview_request(ctx, "POST", f"/api/v1/files/{name}/variants", build_body(label, overrides))
        printer = ctx.emitter(build_links_spec(ctx))
        existing = [] if label is None else _list_if_allowed(client, name)
        _check_label_unused(existing, label)
        known = [str(row.get("uuid")) for row in existing]
        variant = client.variants.create(name, label, overrides, known=known)
    if variant.get("recovered"):
        ctx.note("the response was lost, but the link was created")
    if variant.get("downloadWarning"):
        ctx.warn(variant["downloadWarning"])
    if printer.format == "json":
        printer.emit(variant)
    else:
        printer.emit_row(variant)
    return ExitCode.OK


def _list_if_allowed(client: "Client", name: str) -> Sequence[Mapping[str, Any]]:
    """Return the variants of the file; empty if the credential may only write."""
    try:
        return client.variants.list(name)
    except Refused as refusal:
        if refusal.code != "insufficient_scope":
            raise
        return []


def _check_label_unused(existing: Sequence[Mapping[str, Any]], label: str | None) -> None:
    """Raise Stop (7) if an active variant has the label: two links would split the recipient's readership."""
    alive = [row for row in existing if row.get("label") and not row.get("revoked")]
    same = next((row for row in alive if label is not None and row["label"] == label.strip()), None)
    if same is not None:
        raise Stop(
            ExitCode.CONFLICT,
            f"a variant with the label {label!r} already exists: {same.get('url')}",
            hint="Choose another label, or revoke that link first.",
        )


def build_body(label: str | None, overrides: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the body of the request that creates a link."""
    return {**({} if label is None else {"label": label}), **({"overrides": overrides} if overrides else {})}
