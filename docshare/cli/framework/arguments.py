"""Resolve the ways to name a file: UUID, short id, share link, ``slug:NAME``, ``@last``, ``-`` for ids on stdin."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.local import cache
from docshare.client.errors import BadAddress
from docshare.client.links import SCHEMES, extract_link_name, host_of, resolve_link
from docshare.contract.patterns import SHORT_ID, UUID
from docshare.contract.problems import Problem

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context
    from docshare.client import Client

_LAST_UPLOAD = "@last"

FILE_HELP = "UUID, short id, share link, slug:NAME or @last."
OPERATOR_HELP = "UUID, short id, share link or @last."
FILES_HELP = "UUID, short id, share link, slug:NAME, @last, or - for ids on stdin."


def sha256_of(path: Path) -> str:
    """Return the hex digest of a local file, read in blocks."""
    import hashlib

    with open(path, "rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def require_last_upload(context: "Context") -> str:
    """Return the UUID of ``@last``. Raise Stop (2) if nothing was uploaded."""
    last = cache.load_last_upload(context)
    if last is None:
        raise Stop(ExitCode.USAGE, "@last: no file has been uploaded with this profile on this machine")
    return str(last["uuid"])


def resolve_operator_file(context: "Context", word: str, directory: Path, accepted: str = OPERATOR_HELP) -> str:
    """Return the UUID or short id named by ``word``; raise Stop (2) for others and links of other servers.

    The operator of the instance in ``directory`` has no file list to look up a slug in. ``accepted``: what the hint of
    the error lists.
    """
    if word == _LAST_UPLOAD:
        return require_last_upload(context)
    name = _extract_local_name(word, directory) if word.startswith(SCHEMES) else word
    if UUID.fullmatch(name) or SHORT_ID.fullmatch(name):
        return name
    raise Stop(ExitCode.USAGE, f"{word!r} is not a file", hint=f"Use {accepted}")


def resolve_reported_file(context: "Context", word: str, directory: Path) -> str:
    """Return the UUID, short id or slug in ``word``, which may be a reported share link.

    The server of ``directory`` looks it up among all files. Raise Stop (2) for ``@last`` if nothing was uploaded, and
    for a link of another server.
    """
    if word == _LAST_UPLOAD:
        return require_last_upload(context)
    return _extract_local_name(word, directory) if word.startswith(SCHEMES) else word.removeprefix("slug:")


def _extract_local_name(link: str, directory: Path) -> str:
    """Return the name in a link of the server of ``directory``; raise Stop (2) for a link of another server."""
    from docshare.cli.framework.admin_channel import list_base_urls

    own_urls = list_base_urls(directory)
    if own_urls and host_of(link) not in map(host_of, own_urls):
        hint = "Name the data directory of that server with --data, or the file by its UUID or short id."
        raise _foreign_link_error(link, own_urls[0], hint)
    return extract_link_name(link)


def _foreign_link_error(link: str, own: str, hint: str) -> Stop:
    return Stop(ExitCode.USAGE, f"{link} belongs to another server, not {host_of(own)}", hint=hint)


def base_of(link: str) -> str:
    """Return the base URL of a share link: everything before the last slash."""
    return link.rsplit("/", 1)[0]


class FileResolver:
    """Resolves names to ids for the API; fetches the file list at most once, and only for a slug."""

    def __init__(self, context: "Context", client: "Client") -> None:
        self._ctx = context
        self._client = client

    def resolve(self, word: str) -> str:
        """Return the UUID or short id of ``word``. Raise Stop (2) if it is invalid, Stop (3) for an unknown slug."""
        if word == _LAST_UPLOAD:
            return require_last_upload(self._ctx)
        if word.startswith(SCHEMES):
            return self._resolve_link(word)
        if word.startswith("slug:"):
            return self._resolve_slug(word.removeprefix("slug:"))
        if UUID.fullmatch(word):
            return word.lower()
        if SHORT_ID.fullmatch(word):
            return word
        raise Stop(ExitCode.USAGE, f"{word!r} is not a file", hint=f"Use {FILE_HELP}")

    def resolve_all(self, words: Sequence[str]) -> list[str]:
        """Return the ids of ``words`` in order and without duplicates; ``-`` reads ids from stdin."""
        found: dict[str, None] = {}
        for word in words:
            for name in self._read_stdin_ids() if word == "-" else [word]:
                found[self.resolve(name)] = None
        if not found:
            raise Stop(ExitCode.USAGE, "no files given")
        return list(found)

    def _read_stdin_ids(self) -> Iterable[str]:
        """Yield the first word of each line, so that the output of ``docshare ls`` can be piped in unchanged."""
        for line in self._ctx.stdin:
            words = line.split()
            if words:
                yield words[0]

    def _resolve_link(self, link: str) -> str:
        try:
            return resolve_link(link, self._client.base_url, self._find_by_slug)
        except BadAddress as error:
            hint = "Select that server's profile with --profile, or name the file with slug:NAME."
            raise Stop(ExitCode.USAGE, error.detail, hint=hint) from None
        except Problem as problem:
            if problem.extra:
                raise Stop(ExitCode.USAGE, f"{link!r} is not a share link") from None
            raise self._unknown_slug_error(extract_link_name(link)) from None

    def _resolve_slug(self, slug: str) -> str:
        file = self._find_by_slug(slug)
        if file is None:
            raise self._unknown_slug_error(slug)
        return str(file["uuid"])

    def _unknown_slug_error(self, slug: str) -> Stop:
        return Stop(ExitCode.NOT_FOUND, f"no file with the slug {slug!r}", hint="See: docshare files list")

    def _find_by_slug(self, slug: str) -> Mapping[str, Any] | None:
        return next((file for file in self._files if file.get("slug") == slug), None)

    @cached_property
    def _files(self) -> Sequence[Mapping[str, Any]]:
        files = self._client.files.list()
        cache.remember_files(self._ctx, files)
        return files
