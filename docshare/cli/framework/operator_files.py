"""Resolve the ways in which an operator names a file of the instance in a data directory."""

from pathlib import Path

from docshare.cli.framework.admin_channel import list_base_urls
from docshare.cli.framework.arguments import LAST_UPLOAD, require_last_upload
from docshare.cli.framework.context import Context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.client.links import SCHEMES, extract_link_name, host_of
from docshare.contract.patterns import SHORT_ID, UUID

OPERATOR_HELP = "UUID, short id, share link, or @last."


def resolve_operator_file(context: Context, word: str, directory: Path, accepted: str = OPERATOR_HELP) -> str:
    """Return the UUID or short id named by ``word``; raise Stop (2) for others and links of other servers.

    The operator of the instance in ``directory`` has no file list to look up a slug in. ``accepted``: what the hint of
    the error lists.
    """
    if word == LAST_UPLOAD:
        return require_last_upload(context)
    name = _extract_local_name(word, directory) if word.startswith(SCHEMES) else word
    if UUID.fullmatch(name) or SHORT_ID.fullmatch(name):
        return name
    raise Stop(ExitCode.USAGE, f"{word!r} is not a file", hint=f"Use {accepted}")


def resolve_reported_file(context: Context, word: str, directory: Path) -> str:
    """Return the UUID, short id, or slug in ``word``, which may be a reported share link.

    The server of ``directory`` looks it up among all files. Raise Stop (2) for ``@last`` if nothing was uploaded, and
    for a link of another server.
    """
    if word == LAST_UPLOAD:
        return require_last_upload(context)
    return _extract_local_name(word, directory) if word.startswith(SCHEMES) else word.removeprefix("slug:")


def _extract_local_name(link: str, directory: Path) -> str:
    """Return the name in a link of the server of ``directory``; raise Stop (2) for a link of another server."""
    own_urls = list_base_urls(directory)
    if own_urls and host_of(link) not in map(host_of, own_urls):
        hint = "Name the data directory of that server with --data, or the file by its UUID or short id."
        raise _foreign_link_error(link, own_urls[0], hint)
    return extract_link_name(link)


def _foreign_link_error(link: str, own: str, hint: str) -> Stop:
    return Stop(ExitCode.USAGE, f"{link} belongs to another server, not {host_of(own)}", hint=hint)
