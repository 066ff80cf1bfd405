"""Resolve webhooks given as a UUID, a UUID prefix or a URL, or as ``-`` for UUIDs on stdin.

Everything except a full UUID is looked up in the webhooks of the account, which are fetched once.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.inputs import read_ids
from docshare.cli.local import cache
from docshare.contract.fields import is_uuid

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context
    from docshare.client import Client

Row = Mapping[str, Any]

WEBHOOK_HELP = "UUID, its first 8 characters or more, or the exact URL."
WEBHOOKS_HELP = "UUID, its first 8 characters or more, the exact URL, or - for UUIDs on stdin."

SHORT_UUID_CHARS = 8  # characters of a UUID that are shown to people
_UUID_PREFIX = re.compile(rf"[0-9a-f-]{{{SHORT_UUID_CHARS},36}}", re.ASCII)
_LIST_HINT = "See: docshare webhooks list"


class WebhookResolver:
    """Resolves arguments to webhooks, fetching the list at most once."""

    def __init__(self, context: "Context", client: "Client") -> None:
        self._ctx = context
        self._client = client

    def resolve(self, word: str) -> Row:
        """Return the webhook for ``word``. Raise Stop (2) if it is malformed or ambiguous, Stop (3) if none matches."""
        found = [row for row in self.webhooks if self._is_match(word, row)]
        if len(found) > 1:
            candidates = ", ".join(f"{row['uuid']} ({row.get('url')})" for row in found)
            raise Stop(
                ExitCode.USAGE, f"{word!r} matches {len(found)} webhooks: {candidates}", hint="Use a longer prefix."
            )
        if found:
            return found[0]
        raise Stop(ExitCode.NOT_FOUND, f"webhook {word} does not exist", hint=_LIST_HINT)

    def resolve_uuid(self, word: str) -> str:
        """Return the UUID for ``word``; a full UUID needs no request."""
        return word.lower() if is_uuid(word) else str(self.resolve(word)["uuid"])

    def resolve_all(self, words: Sequence[str]) -> list[Row]:
        """Return the unique webhooks for ``words`` in order; ``-`` reads UUIDs from stdin."""
        found: dict[str, Row] = {}
        for word in words:
            for name in read_ids(self._ctx) if word == "-" else [word]:
                row = self.resolve(name)
                found[str(row["uuid"])] = row
        if not found:
            raise Stop(ExitCode.USAGE, "no webhook given")
        return list(found.values())

    @cached_property
    def webhooks(self) -> Sequence[Row]:
        """All webhooks of the account, newest first."""
        rows = self._client.webhooks.list()
        cache.remember_webhooks(self._ctx, rows)
        return rows

    def _is_match(self, word: str, row: Row) -> bool:
        if "://" in word:
            return row.get("url") == word
        beginning = word.lower()
        if not _UUID_PREFIX.fullmatch(beginning):
            hint = f"Use its {WEBHOOK_HELP}"
            raise Stop(ExitCode.USAGE, f"{word!r} is not a UUID prefix or a URL", hint=hint)
        return str(row.get("uuid", "")).startswith(beginning)
