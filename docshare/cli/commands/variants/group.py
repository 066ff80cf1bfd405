"""``docshare variants``: links for single recipients. ``create`` and ``export`` have separate modules."""

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any

import typer

from docshare.cli.commands.settings.overrides import (
    DownloadOption,
    PagesOption,
    ReaderChoiceOption,
    build_overrides,
    describe_overrides,
)
from docshare.cli.commands.variants.names import (
    OF_FILE_HELP,
    VARIANT_HELP,
    VARIANTS_HELP,
    FileVariant,
    VariantResolver,
    short_id,
)
from docshare.cli.framework.app import App, Stub
from docshare.cli.framework.arguments import FILE_HELP, FileResolver
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.local import cache
from docshare.cli.terminal.output import Column, Spec
from docshare.cli.terminal.text import clean

Row = Mapping[str, Any]

# The commands that read and write tables are imported when they run.
_STUBS = (
    Stub("create", "variants.create", "Commands", "Create links for single recipients."),
    Stub("export", "variants.export", "Commands", "Write the variants of a file as CSV."),
)

app = App("Create, redact, and revoke links for single recipients.", stubs=_STUBS)

_FIELDS = (
    "uuid",
    "shortId",
    "url",
    "label",
    "overrides",
    "revoked",
    "redacted",
    "pageRangeEmpty",
    "createdAt",
    "downloadWarning",
)


def describe_state(variant: Row) -> str:
    """Return in words why the link of a variant does not show pages as usual; empty if it does."""
    words = {"revoked": "revoked", "redacted": "redacted", "pageRangeEmpty": "no pages shown"}
    return ", ".join(word for key, word in words.items() if variant.get(key))


_LIST = Spec(
    table=(
        Column("label", "LABEL", role="bold", flexible=True),
        Column("shortId", "ID", role="id", rank=2, show=lambda row: short_id(dict(row))),
        Column("url", "LINK", link="url"),
        Column("overrides", "ALLOWS", rank=3, show=lambda row: describe_overrides(row.get("overrides"))),
        Column("createdAt", "CREATED", kind="when", rank=4),
        Column("state", "STATE", role="warn", rank=1, show=describe_state),
    ),
    plain=("shortId", "uuid", "label", "url", "revoked", "redacted", "createdAt"),
    fields=_FIELDS,
    id="shortId",
    empty="no variants; create one with: docshare variants create FILE --label NAME",
)

_SHOW = Spec(
    table=(
        Column("label", "label", role="bold"),
        Column("url", "link", role="id", link="url"),
        Column("shortId", "short id"),
        Column("uuid", "uuid"),
        Column("overrides", "allows", show=lambda row: describe_overrides(row.get("overrides"))),
        Column("createdAt", "created", kind="moment"),
        Column("state", "state", role="warn", show=describe_state),
        Column("downloadWarning", "warning", role="warn"),
    ),
    plain=("uuid", "shortId", "label", "url"),
    fields=_FIELDS,
    id="shortId",
)


@app.command("list", spec=_LIST)
def list_variants(
    file: Annotated[str, typer.Argument(metavar="FILE", help=FILE_HELP)],
    active: Annotated[bool, typer.Option("--active", help="List only variants whose link works.")] = False,
    revoked: Annotated[bool, typer.Option("--revoked", help="List only revoked variants.")] = False,
    redacted: Annotated[bool, typer.Option("--redacted", help="List only redacted variants.")] = False,
) -> None:
    """List the variants of a file.

    [Pro] The newest variant comes first; revoked and redacted ones are listed too. On a pipe, prints tab-separated
    shortId, uuid, label, url, revoked, redacted, createdAt.

    Examples:

      docshare variants list @last
      docshare variants list slug:offer --active --json | jq -r '.[].url'
    """
    ctx = current_context()
    client = ctx.client()
    variants = client.variants.list(FileResolver(ctx, client).resolve(file))
    cache.remember_variants(ctx, variants)
    ctx.emit([row for row in variants if _is_selected(row, active=active, revoked=revoked, redacted=redacted)], _LIST)


def _is_selected(row: Row, *, active: bool, revoked: bool, redacted: bool) -> bool:
    if not (active or revoked or redacted):
        return True
    is_revoked = bool(row.get("revoked"))
    return (active and not is_revoked) or (revoked and is_revoked) or (redacted and bool(row.get("redacted")))


_VariantArgument = Annotated[str, typer.Argument(metavar="VARIANT", help=VARIANT_HELP)]
_VariantsArgument = Annotated[list[str], typer.Argument(metavar="VARIANT...", help=VARIANTS_HELP)]
_FileOption = Annotated[str | None, typer.Option("--file", metavar="FILE", help=OF_FILE_HELP)]
_DryRunOption = Annotated[bool, typer.Option("--dry-run", "-n", help="Print the requests without sending them.")]


@app.command("show", spec=_SHOW)
def show(variant: _VariantArgument, file: _FileOption = None) -> None:
    """Show one variant.

    On a pipe, prints one line per field: its name and its value.

    Examples:

      docshare variants show https://docs.example/aB3dE5fG7hJ9
      docshare variants show label:Ann --file slug:offer --json
    """
    ctx = current_context()
    ctx.emit(VariantResolver(ctx, ctx.client(), file).resolve(variant).variant, _SHOW)


def _make_change_renderer(verb: str) -> Callable[[Row, Context], Iterator[str]]:
    def lines(row: Row, context: Context) -> Iterator[str]:
        screen = context.out_screen
        named = clean(str(row.get("variant") or short_id(dict(row))))
        state = describe_state(row)
        label = f'"{row["label"]}"' if row.get("label") else ""
        facts = (label, describe_overrides(row.get("overrides")), "" if state == verb else state)
        details = ", ".join(clean(fact) for fact in facts if fact)
        yield f"{verb} {screen.paint('id', named)}" + (f": {details}" if details else "")

    return lines


def _build_change_spec(verb: str) -> Spec:
    return Spec(
        plain=("shortId", "label", "url"), fields=(*_FIELDS, "variant"), id="shortId", human=_make_change_renderer(verb)
    )


_UPDATE, _REVOKE, _RESTORE = (
    _build_change_spec("updated"),
    _build_change_spec("revoked"),
    _build_change_spec("restored"),
)


@app.command("update", spec=_UPDATE)
def update(
    variant: _VariantArgument,
    file: _FileOption = None,
    label: Annotated[str | None, typer.Option(metavar="TEXT", help="Recipient of the link.")] = None,
    clear_label: Annotated[bool, typer.Option("--clear-label", help="Remove the label.")] = False,
    download: DownloadOption = None,
    pages: PagesOption = None,
    reader_choice: ReaderChoiceOption = None,
    overrides: Annotated[str | None, typer.Option(metavar="JSON", help="Overrides as in the API.")] = None,
    replace_overrides: Annotated[
        bool, typer.Option("--replace-overrides", help="Remove overrides that are not given.")
    ] = False,
    clear_overrides: Annotated[bool, typer.Option("--clear-overrides", help="Remove all overrides.")] = False,
    dry_run: _DryRunOption = False,
) -> ExitCode:
    """Change the label or the overrides of a variant.

    The command merges the given overrides into the existing ones; -v prints the request. With --replace-overrides,
    overrides that are not given are removed, so that the settings of the file apply.

    Examples:

      docshare variants update label:Ann --file @last --label "Ann Lee"
      docshare variants update aB3dE5fG7hJ9 --no-download --pages 1-3
      docshare variants update aB3dE5fG7hJ9 --clear-overrides
    """
    from docshare.cli.commands.variants import change

    ctx = current_context()
    changes = _read_label(label, clear=clear_label)
    if overrides is None:
        given = build_overrides(download, pages, choice=reader_choice) or None
    elif not (download is None and pages is None and reader_choice is None):
        raise Stop(ExitCode.USAGE, "--overrides cannot be used together with --download, --pages, or --reader-choice")
    else:
        given = change.parse_overrides(overrides)
    if clear_overrides and (given is not None or replace_overrides):
        raise Stop(ExitCode.USAGE, "--clear-overrides cannot be used together with overrides or --replace-overrides")
    if not changes and given is None and not (clear_overrides or replace_overrides):
        raise Stop(ExitCode.USAGE, "no changes given", hint="See: docshare variants update -h")
    client = ctx.client()
    found = VariantResolver(ctx, client, file).resolve(variant)
    if clear_overrides or replace_overrides:
        changes["overrides"] = given or {}
    elif given is not None:
        changes["overrides"] = {**(found.variant.get("overrides") or {}), **given}
    return change.update_all(ctx, client, [found], changes, _UPDATE, dry_run=dry_run)


def _read_label(label: str | None, *, clear: bool) -> dict[str, Any]:
    if clear and label is not None:
        raise Stop(ExitCode.USAGE, "--label and --clear-label cannot be used together")
    if label is not None and not label.strip():  # usually an unset variable of a script
        raise Stop(ExitCode.USAGE, "--label is empty", hint="To remove the label, use --clear-label.")
    return {"label": ""} if clear else {} if label is None else {"label": label}


@app.command("revoke", spec=_REVOKE)
def revoke(variants: _VariantsArgument, file: _FileOption = None, dry_run: _DryRunOption = False) -> ExitCode:
    """Revoke variants, so that their links stop working.

    Prompts for confirmation on a terminal; elsewhere --yes is required. Undo with docshare variants restore.

    Examples:

      docshare variants revoke label:Ann --file slug:offer
      docshare variants list @last --format ids | docshare variants revoke - --file @last --yes
    """
    from docshare.cli.commands.variants import change

    ctx = current_context()
    client = ctx.client()
    found = VariantResolver(ctx, client, file).resolve_all(variants)
    if not dry_run:
        change.confirm(ctx, "Revoke", found)
    return change.update_all(ctx, client, found, {"revoked": True}, _REVOKE, dry_run=dry_run)


@app.command("restore", spec=_RESTORE)
def restore(variants: _VariantsArgument, file: _FileOption = None, dry_run: _DryRunOption = False) -> ExitCode:
    """Restore revoked variants.

    Examples:

      docshare variants restore label:Ann --file slug:offer
    """
    from docshare.cli.commands.variants import change

    ctx = current_context()
    client = ctx.client()
    found = VariantResolver(ctx, client, file).resolve_all(variants)
    return change.update_all(ctx, client, found, {"revoked": False}, _RESTORE, dry_run=dry_run)


def _make_removal_renderer(words: str) -> Callable[[Row, Context], Iterator[str]]:
    def lines(row: Row, context: Context) -> Iterator[str]:
        yield f"{words} {context.out_screen.paint('id', clean(str(row['shortId'])))}"

    return lines


_DELETE = Spec(
    plain=("shortId", "deleted"), fields=("uuid", "variant"), id="shortId", human=_make_removal_renderer("deleted")
)
_REDACT = Spec(
    plain=("shortId", "redacted"), fields=("uuid", "variant"), id="shortId", human=_make_removal_renderer("redacted")
)


@app.command("delete", spec=_DELETE)
def delete(variants: _VariantsArgument, file: _FileOption = None, dry_run: _DryRunOption = False) -> ExitCode:
    """Delete variants.

    The links stop working for good. Their sessions stay in the readership, unattributed. Prompts for
    confirmation on a terminal; elsewhere --yes is required.

    Examples:

      docshare variants delete label:Ann --file slug:offer
    """
    from docshare.cli.commands.variants import change

    ctx = current_context()
    client = ctx.client()
    found = VariantResolver(ctx, client, file).resolve_all(variants)
    if dry_run:
        return change.preview_requests(ctx, found, "DELETE")
    change.confirm(ctx, "Delete", found, " The link stops working; its sessions stay, unattributed.")

    def work(each: FileVariant) -> Row:
        client.variants.delete(each.file, each.uuid)
        return {"uuid": each.uuid, "shortId": short_id(each.variant), "deleted": True}

    return change.run_each(ctx, client, found, _DELETE, work)


@app.command("redact", spec=_REDACT)
def redact(
    variants: _VariantsArgument,
    file: _FileOption = None,
    typed: Annotated[
        str | None, typer.Option("--confirm", metavar="LABEL", help="Confirm by repeating the label or short id.")
    ] = None,
    count: Annotated[
        int | None, typer.Option("--count", metavar="N", help="With --yes: confirm that N variants are redacted.")
    ] = None,
    dry_run: _DryRunOption = False,
) -> ExitCode:
    """Erase the labels of variants; their links keep working.

    Erases the label from the variant, the readership, the activity, and all webhook deliveries, sent or queued. This
    cannot be undone, and the variant cannot get a new label. Files on your machine that contain the label are not
    changed.

    Examples:

      docshare variants redact label:Ann --file slug:offer
      docshare variants redact aB3dE5fG7hJ9 --file slug:offer --confirm "Ann Lee"
    """
    from docshare.cli.commands.variants import change

    ctx = current_context()
    client = ctx.client()
    found = VariantResolver(ctx, client, file).resolve_all(variants)
    if dry_run:
        return change.preview_requests(ctx, found, "DELETE", query="?redact=1")
    change.confirm_redaction(ctx, found, typed, count)

    def work(each: FileVariant) -> Row:
        client.variants.redact(each.file, each.uuid)
        return {"uuid": each.uuid, "shortId": short_id(each.variant), "redacted": True}

    try:
        return change.run_each(ctx, client, found, _REDACT, work)
    finally:
        cache.remember_variants(ctx, [])  # cached completion words contain labels too
