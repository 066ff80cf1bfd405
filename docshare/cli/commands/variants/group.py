"""``docshare variants``: links for single recipients. ``create`` stands in ``variants_create``."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docshare.cli.commands.settings.overrides import build_overrides, describe_overrides, parse_overrides
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

if TYPE_CHECKING:
    from docshare.client import Client

Row = Mapping[str, Any]

# What writes and reads tables is loaded when it is used.
_STUBS = (
    Stub(
        "create", "variants.create", "Commands", "Make links for single recipients, one or one per row of a CSV file."
    ),
    Stub("export", "variants.export", "Commands", "Write the variants of a file as CSV."),
)

app = App("Links for single recipients: make, revoke, redact them.", stubs=_STUBS)

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
    """What is unusual about a variant, in short words."""
    words = {"revoked": "revoked", "redacted": "redacted", "pageRangeEmpty": "no pages shown"}
    return ", ".join(word for key, word in words.items() if variant.get(key))


_LIST = Spec(
    table=(
        Column("label", "LABEL", role="bold", flexible=True),
        Column("shortId", "ID", role="id", rank=2, show=lambda row: short_id(dict(row))),
        Column("url", "LINK"),
        Column("overrides", "ALLOWS", rank=3, show=lambda row: describe_overrides(row.get("overrides"))),
        Column("createdAt", "CREATED", kind="when", rank=4),
        Column("state", "STATE", role="warn", rank=1, show=describe_state),
    ),
    plain=("shortId", "uuid", "label", "url", "revoked", "redacted", "createdAt"),
    fields=_FIELDS,
    id="shortId",
    empty="no variants; make one with: docshare variants create FILE --label NAME",
)

_SHOW = Spec(
    table=(
        Column("label", "label", role="bold"),
        Column("url", "link", role="id"),
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
    active: Annotated[bool, typer.Option("--active", help="Show those whose link works.")] = False,
    revoked: Annotated[bool, typer.Option("--revoked", help="Show the revoked ones.")] = False,
    redacted: Annotated[bool, typer.Option("--redacted", help="Show the redacted ones.")] = False,
) -> None:
    """List the variants of a file.

    [Pro] Newest first, revoked and redacted ones too unless an option chooses. A pipe gets tab-separated shortId, uuid,
    label, url, revoked, redacted, createdAt.

    Examples:

      docshare variants list @last
      docshare variants list slug:offer --active --json | jq -r '.[].url'
    """
    ctx = current_context()
    client = ctx.client()
    variants = client.variants.list(FileResolver(ctx, client).one(file))
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
_DryRunOption = Annotated[bool, typer.Option("--dry-run", "-n", help="Say what would be sent; send nothing.")]


@app.command("show", spec=_SHOW)
def show(variant: _VariantArgument, file: _FileOption = None) -> None:
    """Show one variant.

    A pipe gets one line per field, its name and its value.

    Examples:

      docshare variants show https://docs.example/aB3dE5fG7hJ9
      docshare variants show label:Ann --file slug:offer --json
    """
    ctx = current_context()
    ctx.emit(VariantResolver(ctx, ctx.client(), file).one(variant).variant, _SHOW)


def _make_change_renderer(verb: str) -> Callable[[Row, Context], Iterator[str]]:
    def lines(row: Row, context: Context) -> Iterator[str]:
        screen = context.out_screen
        named = clean(str(row.get("variant") or short_id(dict(row))))
        state = describe_state(row)
        label = f'"{row["label"]}"' if row.get("label") else ""
        facts = (label, describe_overrides(row.get("overrides")), "" if state == verb else state)
        told = ", ".join(clean(fact) for fact in facts if fact)
        yield f"{verb} {screen.paint('id', named)}" + (f": {told}" if told else "")

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
    label: Annotated[str | None, typer.Option(metavar="TEXT", help="Who the link is for.")] = None,
    clear_label: Annotated[bool, typer.Option("--clear-label", help="Take the label away.")] = False,
    download: Annotated[
        bool | None, typer.Option("--download/--no-download", help="Override whether the reader may download.")
    ] = None,
    pages: Annotated[str | None, typer.Option(metavar="A-B|all", help="Override the pages the reader gets.")] = None,
    overrides: Annotated[str | None, typer.Option(metavar="JSON", help="The overrides as the API has them.")] = None,
    replace_overrides: Annotated[
        bool, typer.Option("--replace-overrides", help="Drop the overrides that are not given.")
    ] = False,
    clear_overrides: Annotated[
        bool, typer.Option("--clear-overrides", help="Let the file's own settings hold again.")
    ] = False,
    dry_run: _DryRunOption = False,
) -> ExitCode:
    """Change the label or the overrides of a variant.

    The API replaces overrides as a whole, so they are read, merged and written; -v shows what is sent. With
    --replace-overrides those that are not given fall back to the file's own settings.

    Examples:

      docshare variants update label:Ann --file @last --label "Ann Lee"
      docshare variants update aB3dE5fG7hJ9 --no-download --pages 1-3
      docshare variants update aB3dE5fG7hJ9 --clear-overrides
    """
    ctx = current_context()
    changes = _read_label(label, clear=clear_label)
    given = _read_overrides(overrides, download, pages)
    if clear_overrides and (given is not None or replace_overrides):
        raise Stop(ExitCode.USAGE, "--clear-overrides stands alone; --replace-overrides drops what is not given")
    if not changes and given is None and not (clear_overrides or replace_overrides):
        raise Stop(ExitCode.USAGE, "nothing to change was given", hint="See: docshare variants update -h")
    client = ctx.client()
    found = VariantResolver(ctx, client, file).one(variant)
    if clear_overrides or replace_overrides:
        changes["overrides"] = given or {}
    elif given is not None:
        changes["overrides"] = {**(found.variant.get("overrides") or {}), **given}
    return _update_all(ctx, client, [found], changes, _UPDATE, dry_run=dry_run)


def _read_label(label: str | None, *, clear: bool) -> dict[str, Any]:
    if clear and label is not None:
        raise Stop(ExitCode.USAGE, "--label and --clear-label exclude each other")
    if label is not None and not label.strip():  # in a script most often a variable that was never set
        raise Stop(ExitCode.USAGE, "--label is empty", hint="To take the label away: --clear-label")
    return {"label": ""} if clear else {} if label is None else {"label": label}


def _read_overrides(text: str | None, download: bool | None, pages: str | None) -> dict[str, Any] | None:
    """The overrides that the command line names, None for none."""
    if text is None:
        return build_overrides(download, pages) or None
    if not (download is None and pages is None):
        raise Stop(ExitCode.USAGE, "--overrides and --download or --pages exclude each other")
    return parse_overrides(text)


@app.command("revoke", spec=_REVOKE)
def revoke(variants: _VariantsArgument, file: _FileOption = None, dry_run: _DryRunOption = False) -> ExitCode:
    """Revoke variants: their links answer like unknown ones.

    On a terminal you are asked first; elsewhere --yes is needed. docshare variants restore takes it back.

    Examples:

      docshare variants revoke label:Ann --file slug:offer
      docshare variants list @last --format ids | docshare variants revoke - --file @last --yes
    """
    ctx = current_context()
    client = ctx.client()
    found = VariantResolver(ctx, client, file).many(variants)
    if not dry_run:
        _confirm(ctx, "Revoke", found)
    return _update_all(ctx, client, found, {"revoked": True}, _REVOKE, dry_run=dry_run)


@app.command("restore", spec=_RESTORE)
def restore(variants: _VariantsArgument, file: _FileOption = None, dry_run: _DryRunOption = False) -> ExitCode:
    """Let revoked variants work again.

    Examples:

      docshare variants restore label:Ann --file slug:offer
    """
    ctx = current_context()
    client = ctx.client()
    found = VariantResolver(ctx, client, file).many(variants)
    return _update_all(ctx, client, found, {"revoked": False}, _RESTORE, dry_run=dry_run)


def _update_all(
    ctx: Context, client: "Client", found: Sequence[FileVariant], changes: Row, spec: Spec, *, dry_run: bool
) -> ExitCode:
    import json

    body = json.dumps(changes, ensure_ascii=False)
    ctx.trace(f"the body of the request: {body}")
    if dry_run:
        return _preview_requests(ctx, found, "PUT", body=body)

    def work(each: FileVariant) -> Row:
        changed = client.variants.update(each.file, each.uuid, changes)
        if changed.get("downloadWarning"):
            ctx.warn(f"{short_id(each.variant)}: {changed['downloadWarning']}")
        return changed

    return _run_each(ctx, client, found, spec, work)


def _run_each(
    ctx: Context, client: "Client", found: Sequence[FileVariant], spec: Spec, work: Callable[[FileVariant], Row]
) -> ExitCode:
    from docshare.cli.framework import bulk

    by_name = {short_id(each.variant): each for each in found}

    def paced(name: str) -> Row:
        client.pace()
        return work(by_name[name])

    return bulk.run_each(ctx, ctx.emitter(spec), list(by_name), "variant", paced)


def _preview_requests(
    ctx: Context, found: Sequence[FileVariant], method: str, *, query: str = "", body: str = ""
) -> ExitCode:
    from docshare.cli.framework import bulk

    requests = [(method, f"/api/v1/files/{each.file}/variants/{each.uuid}{query}", body) for each in found]
    return bulk.print_requests(ctx, requests)


def _confirm(ctx: Context, verb: str, found: Sequence[FileVariant], remark: str = "") -> None:
    from docshare.cli.framework import prompts

    what = f'"{found[0].name}"' if len(found) == 1 else f"{len(found)} variants"
    prompts.confirm(ctx, f"{verb} {what}?{remark}" if ctx.may_prompt else f"{verb} {what}")


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

    The links stop working for good. The sessions that came by them stay in the readership, unattributed. On a terminal
    you are asked first; elsewhere --yes is needed.

    Examples:

      docshare variants delete label:Ann --file slug:offer
    """
    ctx = current_context()
    client = ctx.client()
    found = VariantResolver(ctx, client, file).many(variants)
    if dry_run:
        return _preview_requests(ctx, found, "DELETE")
    _confirm(ctx, "Delete", found, " Its link dies; its sessions stay, unattributed.")

    def work(each: FileVariant) -> Row:
        client.variants.delete(each.file, each.uuid)
        return {"uuid": each.uuid, "shortId": short_id(each.variant), "deleted": True}

    return _run_each(ctx, client, found, _DELETE, work)


@app.command("redact", spec=_REDACT)
def redact(
    variants: _VariantsArgument,
    file: _FileOption = None,
    typed: Annotated[
        str | None, typer.Option("--confirm", metavar="LABEL", help="Consent by naming the label, or the short id.")
    ] = None,
    count: Annotated[
        int | None, typer.Option("--count", metavar="N", help="With --yes: consent to exactly N variants.")
    ] = None,
    dry_run: _DryRunOption = False,
) -> ExitCode:
    """Erase the labels of variants for good; their links go on working.

    The label goes from the variant, the readership, the activity and from webhook deliveries, sent or waiting. It
    cannot be undone, and the variant cannot be labelled again. Copies in files of your own stay with you.

    Examples:

      docshare variants redact label:Ann --file slug:offer
      docshare variants redact aB3dE5fG7hJ9 --file slug:offer --confirm "Ann Lee"
    """
    from docshare.cli.framework import prompts

    ctx = current_context()
    client = ctx.client()
    found = VariantResolver(ctx, client, file).many(variants)
    if dry_run:
        return _preview_requests(ctx, found, "DELETE", query="?redact=1")
    names = [each.name for each in found]
    if len(found) == 1 and typed == short_id(found[0].variant):
        typed = names[0]
    what = f'the label "{names[0]}"' if len(names) == 1 else f"{len(names)} labels"
    asked = ctx.may_prompt and not ctx.options.yes
    warning = f"Redacting {what} " + ("cannot be undone, and no other can be set" if asked else "for good")
    prompts.confirm_irreversible(ctx, warning, names, typed=typed, count=count)

    def work(each: FileVariant) -> Row:
        client.variants.redact(each.file, each.uuid)
        return {"uuid": each.uuid, "shortId": short_id(each.variant), "redacted": True}

    try:
        return _run_each(ctx, client, found, _REDACT, work)
    finally:
        cache.remember_variants(ctx, [])  # the words for completion hold labels too
