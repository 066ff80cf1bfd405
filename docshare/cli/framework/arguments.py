"""Resolve the ways to name a file: UUID, short id, share link, ``slug:NAME``, ``@last``, ``-`` for ids on stdin."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.inputs import STDIN, read_ids
from docshare.cli.local import accounts, cache
from docshare.client.errors import BadAddress
from docshare.client.links import SCHEMES, extract_link_name, resolve_link
from docshare.contract.patterns import SHORT_ID, UUID
from docshare.contract.problems import Problem

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context
    from docshare.client import Client

LAST_UPLOAD = "@last"

FILE_HELP = "UUID, short id, share link, slug:NAME, or @last."
FILES_HELP = "UUID, short id, share link, slug:NAME, @last, or - for ids on stdin."


def require_last_upload(context: "Context", client: "Client | None" = None) -> str:
    """Return the UUID of ``@last``. Raise Stop (2) if nothing was uploaded, and as ``cache.load_last_upload`` does."""
    last = cache.load_last_upload(context, client)
    if last is None:
        raise Stop(
            ExitCode.USAGE,
            "@last: no file has been uploaded by this account from this machine",
            hint="A credential without the profile scope finds only its own last upload."
            if accounts.is_account_hidden(context)
            else "",
        )
    return str(last["uuid"])


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
        if word == LAST_UPLOAD:
            return require_last_upload(self._ctx, self._client)
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
            for name in read_ids(self._ctx) if word == STDIN else [word]:
                found[self.resolve(name)] = None
        if not found:
            raise Stop(ExitCode.USAGE, "no files given")
        return list(found)

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
