"""The notations for a webhook: UUID, the beginning of one, or its address; and ``-`` for UUIDs on stdin.

All but a whole UUID are looked up in the list of the account, which is asked for once.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.local import cache
from docshare.contract.fields import is_uuid

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context
    from docshare.client import Client

Row = dict[str, Any]

WEBHOOK_HELP = "UUID, its first 8 characters or more, or the exact address."
WEBHOOKS_HELP = "UUID, its first 8 characters or more, the exact address, or - for UUIDs on stdin."

SHORT_UUID_CHARS = 8  # characters of a UUID that people see
_UUID_PREFIX = re.compile(rf"[0-9a-f-]{{{SHORT_UUID_CHARS},36}}", re.ASCII)
_LIST_HINT = "See: docshare webhooks list"


class WebhookResolver:
    """Turns what the user wrote into webhooks; asks for the list at most once."""

    def __init__(self, context: "Context", client: "Client") -> None:
        self._ctx = context
        self._client = client

    def one(self, word: str) -> Row:
        """The Webhook that ``word`` means. Stop (2) if it means nothing or several, Stop (3) if there is none."""
        found = [row for row in self.all if self._means(word, row)]
        if len(found) > 1:
            candidates = ", ".join(f"{row['uuid']} ({row.get('url')})" for row in found)
            raise Stop(ExitCode.USAGE, f"{word!r} means {len(found)} webhooks: {candidates}", hint="Write more of one.")
        if found:
            return found[0]
        raise Stop(ExitCode.NOT_FOUND, f"no webhook {word}", hint=_LIST_HINT)

    def uuid(self, word: str) -> str:
        """The UUID that ``word`` means; a whole one is taken as it is, without a request."""
        return word.lower() if is_uuid(word) else str(self.one(word)["uuid"])

    def many(self, words: Sequence[str]) -> list[Row]:
        """The Webhooks for several words, without doubles, in order; ``-`` stands for the UUIDs on stdin."""
        found: dict[str, Row] = {}
        for word in words:
            for name in self._stdin_words() if word == "-" else [word]:
                row = self.one(name)
                found[str(row["uuid"])] = row
        if not found:
            raise Stop(ExitCode.USAGE, "no webhook was named")
        return list(found.values())

    @cached_property
    def all(self) -> list[Row]:
        """All webhooks of the account, newest first."""
        rows = self._client.webhooks.list()
        cache.remember_webhooks(self._ctx, rows)
        return rows

    def _means(self, word: str, row: Row) -> bool:
        if "://" in word:
            return row.get("url") == word
        beginning = word.lower()
        if not _UUID_PREFIX.fullmatch(beginning):
            hint = f"A webhook is given as {WEBHOOK_HELP}"
            raise Stop(ExitCode.USAGE, f"{word!r} names no webhook", hint=hint)
        return str(row.get("uuid", "")).startswith(beginning)

    def _stdin_words(self) -> Iterator[str]:
        return (line.split()[0] for line in self._ctx.stdin if line.strip())
