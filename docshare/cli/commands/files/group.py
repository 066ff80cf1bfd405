"""``docshare files``: list, show, download, replace, delete, and restore."""

from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Annotated, Any

import typer

from docshare.cli.commands.files.rows import FILE_FIELDS, FILE_LIST_SPEC, FILE_SPEC, id_of
from docshare.cli.framework.app import App, Stub
from docshare.cli.framework.arguments import FILE_HELP, FILES_HELP, FileResolver
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.dry_run import DryRunSend, preview_request
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.local import cache
from docshare.cli.terminal.cells import get_nested
from docshare.cli.terminal.output import Spec, compile_query, run_query
from docshare.cli.terminal.text import clean, format_local_time
from docshare.client.errors import Refused
from docshare.contract.wire import parse_instant

_STUBS = (
    Stub("download", "files.download", "Commands", "Download the stored PDF of a file."),
    Stub("replace", "files.replace", "Commands", "Replace the document behind a link."),
    Stub("wait", "files.wait", "Commands", "Wait for views or for a link state, and print the file."),
)

app = App("List, show, download, replace, delete, and restore files.", stubs=_STUBS)


@app.command("list", spec=FILE_LIST_SPEC)
def list_files(
    where: Annotated[
        str | None, typer.Option("--filter", metavar="EXPR", help="List only files that match this JMESPath.")
    ] = None,
    sort: Annotated[
        str | None, typer.Option(metavar="KEY", help="Sort by this column or field; -KEY reverses.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", "-L", min=1, metavar="N", help="Maximum number of files to list.")
    ] = None,
) -> None:
    """List the files of the account.

    The newest file comes first. Files in the trash are not listed. On a pipe, prints tab-separated shortId, uuid,
    originalName, size, viewCount, createdAt, deleteAt, slug.

    Examples:

      docshare files list
      docshare files list --filter 'viewCount > `10`' --sort -views
      docshare files list --json | jq -r '.[].shareUrl'
    """
    ctx = current_context()
    query = compile_query(where, "--filter")
    files = ctx.client().files.list()
    cache.remember_files(ctx, files)
    kept = files if query is None else [file for file in files if run_query(query, file, "--filter")]
    listed = _sort_files(kept, sort)[:limit]
    ctx.emit(listed, FILE_LIST_SPEC)
    if len(listed) < len(kept):
        ctx.note(f"showing {len(listed)} of {len(kept)}")


_COLUMNS = {column.title: column for column in FILE_LIST_SPEC.table}


def _sort_files(files: Sequence[Mapping[str, Any]], key: str | None) -> Sequence[Mapping[str, Any]]:
    if key is None:
        return files
    given = key.removeprefix("-")
    column = _COLUMNS.get(given.upper())
    name = column.key if column else given
    if column is None and name.split(".")[0] not in FILE_FIELDS:
        raise Stop(
            ExitCode.USAGE,
            f"--sort: unknown column or field: {given}",
            hint=f"Columns: {', '.join(_COLUMNS)}. Fields: docshare files list --fields '?'",
        )
    words = column.show if column and name not in FILE_FIELDS else None  # only the table has this column
    values = [get_nested(file, name) if words is None else words(file) or None for file in files]
    have = [(_sort_key(value), file) for value, file in zip(values, files, strict=True) if _is_sortable(value)]
    lack = [file for value, file in zip(values, files, strict=True) if not _is_sortable(value)]
    have.sort(key=itemgetter(0), reverse=key.startswith("-"))
    return [file for _, file in have] + lack


def _is_sortable(value: Any) -> bool:
    return isinstance(value, str | int | float)


def _sort_key(value: Any) -> tuple[int, float, str]:
    """Return a sort key that puts numbers before strings, so that fields of mixed types can be sorted."""
    return (0, float(value), "") if isinstance(value, int | float) else (1, 0.0, value.casefold())


@app.command("show", spec=FILE_SPEC)
def show(file: Annotated[str, typer.Argument(metavar="FILE", help=FILE_HELP)]) -> None:
    """Show one file.

    On a pipe, prints one line per field: its name and its value.

    Examples:

      docshare files show @last
      docshare show aB3dE5fG7hJ9 --fields shareUrl
      docshare show https://docs.example/aB3dE5fG7hJ9 --json
    """
    ctx = current_context()
    client = ctx.client()
    ctx.emit(client.files.show(FileResolver(ctx, client).resolve(file)), FILE_SPEC)


def _render_deletion(row: Mapping[str, Any], context: Context) -> Iterator[str]:
    purge = parse_instant(str(row.get("purgeAt", "")))
    what = f"in the trash until {format_local_time(purge)[:10]}" if purge is not None else "deleted for good"
    named = f"{context.out_screen.paint('id', clean(str(row['file'])))}  " if "file" in row else ""
    yield named + what


_DELETE_SPEC = Spec(
    plain=("file", "trashed", "purgeAt"),
    fields=("trashedAt",),
    id="file",
    human=_render_deletion,
)


@app.command("delete", spec=_DELETE_SPEC)
def delete(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help=FILES_HELP)],
    purge: Annotated[bool, typer.Option("--purge", help="Delete for good instead of moving to the trash.")] = False,
    typed: Annotated[
        str | None, typer.Option("--confirm", metavar="FILE", help="Confirm --purge by repeating the file's name.")
    ] = None,
    count: Annotated[
        int | None, typer.Option(metavar="N", help="With --yes and --purge: confirm that N files are deleted.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Print the requests without sending them.")] = False,
) -> ExitCode:
    """Delete files.

    On Basic and Pro, deleted files stay in the trash for a while; on Free, and with --purge, they are deleted for good.
    Prompts for confirmation on a terminal; elsewhere --yes is required. The exit code is 12 if some deletions failed.

    On a pipe, prints the id as file, trashed, and for a file in the trash purgeAt: of one file as one line per field,
    of several files as one tab-separated line per file. With --format ids, prints only the id of each file.

    Examples:

      docshare files delete aB3dE5fG7hJ9
      docshare rm slug:old-offer --yes
      docshare ls --filter 'viewCount == `0`' | docshare rm - --yes
    """
    from docshare.cli.commands.files.deletion import Consent, delete_files

    ctx = current_context()
    return delete_files(ctx, files, Consent(purge, typed, count), _DELETE_SPEC, dry_run=dry_run)


def _render_restoration(row: Mapping[str, Any], context: Context) -> Iterator[str]:
    yield context.out_screen.paint_link(str(row.get("shareUrl") or id_of(row)))


_RESTORE_SPEC = Spec(plain=("shareUrl",), fields=FILE_FIELDS, id="shortId", human=_render_restoration)


@app.command("restore", spec=_RESTORE_SPEC)
def restore(
    file: Annotated[str, typer.Argument(metavar="FILE", help="UUID, short id, or share link of the deleted file.")],
    dry_run: DryRunSend = False,
) -> ExitCode:
    """Restore a file from the trash.

    Its link, settings, readership, and events come back unchanged. The account needs a free file slot. The API does not
    list deleted files; the page /trash of the server does, where you can also restore them.

    Examples:

      docshare files restore aB3dE5fG7hJ9
    """
    ctx = current_context()
    client = ctx.client()
    # The list of files has neither deleted files nor their slugs; only the page lists them.
    page = f"List and restore deleted files at {client.base_url}/trash; docshare dashboard signs you in."
    try:
        name = FileResolver(ctx, client).resolve(file)
    except Stop as unknown:
        if unknown.exit == ExitCode.NOT_FOUND:
            unknown.hint = f"Name a deleted file by its UUID or short id. {page}"
        raise
    if dry_run:
        return preview_request(ctx, "POST", f"/api/v1/files/{name}/restore")
    try:
        restored = client.files.restore(name)
    except Refused as refusal:
        if refusal.status == 404:
            refusal.hint = page
        raise
    ctx.emit(restored, _RESTORE_SPEC)
    return ExitCode.OK
