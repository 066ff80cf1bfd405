"""The account of each credential, as its server reported it: all credentials of an account share ``@last`` and the
completion words.

The file ``accounts`` in the cache directory has a line for each server and credential: the origin, the name of the
credential and the UUID of its account, separated by tabs. The name is the hash of a token, never the token, or the name
of a profile. Without a UUID, the server refuses to report the account of the credential. Each ``token_command`` has an
``@last`` of its own, because the next token that it prints may belong to another account.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docshare.cli.framework.exits import Stop
from docshare.cli.local.paths import ACCOUNTS_FILE, cache_file_name, find_account, has_uuid_form, hash_credential
from docshare.cli.local.settings import resolve_duration
from docshare.cli.local.storage import hold_lock, make_directory, replace_file
from docshare.client.errors import ClientError, Refused
from docshare.contract.problems import Problem

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context
    from docshare.client import Client

_MAX_LINES = 200  # completion reads the file on every TAB; an account that was dropped is fetched again
_FETCH_TIMEOUT_S = 5.0  # for each read: @last is not worth a longer wait
_WORD_KINDS = ("files", "variants", "webhooks")


def resolve_account(context: "Context") -> str:
    """Return the UUID of the account in effect, or the name of its credential if the account is unknown here."""
    return _find_account(context) or context.connection.account


def is_account_hidden(context: "Context") -> bool:
    """Return whether the account of the credential in effect cannot be known: the server refuses to report it, or a
    ``token_command`` prints the token."""
    return _find_account(context) == ""


def list_names(context: "Context", account: str) -> set[str]:
    """Return the names under which ids of ``account`` may be stored: its UUID, and its credentials on the server in
    effect, which had these names until their account was known."""
    rows = (line.split("\t") for line in _read_lines(context)) if has_uuid_form(account) else ()
    found = [row[1] for row in rows if [row[0], *row[2:]] == [context.connection.cache_origin, account]]
    return {account, context.connection.account, *found}


def resolve_account_online(context: "Context", client: "Client") -> str:
    """Return what ``resolve_account`` returns, but fetch the account from the server if it is unknown here.

    Raise as ``client.account.show`` does, but not if the server refuses to report the account: then return the name of
    the credential. For a credential without the profile scope, store that, so that only one request is sent.
    """
    name, known = context.connection.account, _find_account(context)
    if known is not None:
        return known or name
    try:
        reported = str(client.account.show().get("uuid"))
    except Refused as refusal:
        if refusal.status in (401, 429) or refusal.status >= 500:
            raise
        if refusal.code == "insufficient_scope":
            _store(context, context.connection.cache_origin, name, "")
        return name
    return reported if has_uuid_form(reported) else name


def prefetch_account(context: "Context", client: "Client") -> None:
    """Fetch the account of a new credential before an upload, so that other credentials of the account find it.

    After the upload, an interrupt of this request would fail a command that has succeeded. Send nothing if the response
    could not be stored. Ignore failures: if the server does not respond, the upload reports it.
    """
    if _find_account(context) is None and _is_writable(context):
        with suppress(Problem, ClientError):
            timeout = min(_FETCH_TIMEOUT_S, resolve_duration(context, "timeout"))
            resolve_account_online(context, client.with_options(timeout=timeout, retries=0, max_wait=0))


def remember_account(
    context: "Context", origin: str, token: str | Callable[[], str] | None, account: Mapping[str, Any]
) -> None:
    """Store which account the server at ``origin`` reported for ``token``."""
    name = hash_credential(token) if isinstance(token, str) else context.connection.account
    if not has_uuid_form(name) and not context.connection.runs_command:
        reported = str(account.get("uuid"))
        _store(context, origin, name, reported if has_uuid_form(reported) else "")


def forget_credential(context: "Context", name: str) -> None:
    """Forget the account of the credential ``name``, such as a profile that gets another credential."""
    if any(_names(line, name) for line in _read_lines(context)):
        _rewrite(context, lambda lines: [line for line in lines if not _names(line, name)])


def _names(line: str, name: str) -> bool:
    return line.split("\t")[1:2] == [name]


def _find_account(context: "Context") -> str | None:
    """Return the UUID of the account in effect, an empty string if the server refuses to report it, else None."""
    connection = context.connection
    if has_uuid_form(connection.account):
        return connection.account
    if connection.runs_command:
        return ""
    return find_account(_read_lines(context), connection.cache_origin, connection.account)


def _store(context: "Context", origin: str, name: str, uuid: str) -> None:
    start = f"{origin}\t{name}\t"
    if start + uuid in _read_lines(context):
        return
    _rewrite(context, lambda lines: [*(line for line in lines if not line.startswith(start)), start + uuid])
    if uuid:
        _move_words(_find_directory(context), origin, name, uuid)


def _rewrite(context: "Context", change: Callable[[list[str]], Iterable[str]]) -> None:
    with suppress(Stop, OSError), hold_lock(context.cache_dir / ".lock"):
        lines = [line for line in change(_read_lines(context)) if line]
        text = "\n".join(lines[-_MAX_LINES:]) + "\n"
        replace_file(_find_directory(context) / ACCOUNTS_FILE, text, private=True)


def _move_words(folder: Path, origin: str, name: str, uuid: str) -> None:
    """Move the completion words that were stored under the name of a credential to its account, unless it has newer
    ones."""
    for kind in _WORD_KINDS:
        old, new = (folder / cache_file_name(kind, origin, each) for each in (name, uuid))
        with suppress(OSError):
            if new.exists() and new.stat().st_mtime >= old.stat().st_mtime:
                old.unlink()
            else:
                old.replace(new)


def _is_writable(context: "Context") -> bool:
    folder = _find_directory(context)
    with suppress(Stop):
        make_directory(folder)
        return os.access(folder, os.W_OK)
    return False


def _read_lines(context: "Context") -> list[str]:
    try:
        return (_find_directory(context) / ACCOUNTS_FILE).read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        return []


def _find_directory(context: "Context") -> Path:
    return context.cache_dir / "complete"
