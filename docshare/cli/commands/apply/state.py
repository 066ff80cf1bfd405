"""The state of ``docshare apply`` between runs: which server file belongs to which entry of ``share.yaml``.

The state is bound to one server and one account. It stores a password as a salted hash, to detect whether the password
has changed, because the server never reveals the current one.
"""

import hashlib
import hmac
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.local.storage import replace_file

Entry = dict[str, Any]

_VERSION = 1
_SALT_BYTES = 16


class ApplyState:
    """The state file at ``path``.

    ``files``: an entry per key: ``uuid``, ``createdAt``, ``sha256`` and ``contentVersion`` of the last upload, the
    ``settings`` that were set, ``password`` (a hash), and UUIDs of the ``variants`` by label. ``webhooks``: UUIDs.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._owner: Entry = {}
        self._saved = ""
        self.files: dict[str, Entry] = {}
        self.webhooks: dict[str, str] = {}

    def load(self) -> "ApplyState":
        """Read the file if it exists. Raise Stop (2) if it is not a state file."""
        try:
            text = self._path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return self
        except (OSError, UnicodeError) as error:
            raise self._unusable_error("it cannot be read") from error
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            found = None
        if not _is_state(found):
            raise self._unusable_error("it is not a state file of docshare apply")
        self._saved = text
        self._owner = {key: found[key] for key in ("server", "account") if key in found}
        self.files, self.webhooks = found["files"], found["webhooks"]
        return self

    def bind(self, server: str, account: str | None) -> None:
        """Bind the state to ``server`` (its base URL) and ``account`` (a UUID, None if unknown).

        Raise Stop (2) if it belongs to another.
        """
        old = self._owner
        subject = f"{self._path} belongs to"
        if old.get("server", server) != server:
            raise self._other_owner_error(f"{subject} the server {old['server']}, not {server}")
        if account is not None and old.get("account", account) != account:
            raise self._other_owner_error(f"{subject} another account of {server}")
        self._owner = {**old, "server": server, **({} if account is None else {"account": account})}

    def get_entry(self, key: str) -> Entry:
        """Return the entry of a file, creating it if needed."""
        return self.files.setdefault(key, {})

    def save(self) -> None:
        """Write changes to disk, readable by this user only. Raise Stop (2) if that fails."""
        whole = {"version": _VERSION, **self._owner, "files": self.files, "webhooks": self.webhooks}
        text = json.dumps(whole, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
        if text != self._saved:
            replace_file(self._path, text, private=True)
            self._saved = text

    def _unusable_error(self, why: str) -> Stop:
        hint = "Name another file with --state F, or move this one: files are then matched by slug and name."
        return Stop(ExitCode.USAGE, f"{self._path}: {why}", hint=hint, code="local_file")

    def _other_owner_error(self, detail: str) -> Stop:
        return Stop(ExitCode.USAGE, detail, hint="Use a separate state file for each: --state F")


def _is_state(found: object) -> bool:
    if not isinstance(found, dict) or found.get("version") != _VERSION:
        return False
    files, webhooks = found.get("files"), found.get("webhooks")
    if not isinstance(files, dict) or not isinstance(webhooks, dict):
        return False
    return all(map(_is_entry, files.values())) and all(isinstance(uuid, str) for uuid in webhooks.values())


def _is_entry(found: object) -> bool:
    if not isinstance(found, Mapping) or not isinstance(found.get("uuid"), str):
        return False
    variants, settings = found.get("variants", {}), found.get("settings", [])
    if not isinstance(variants, dict) or not isinstance(settings, list):
        return False
    return all(isinstance(word, str) for word in (*variants.values(), *settings, found.get("password", "")))


def hash_password(secret: str) -> str:
    """Return a salted hash of ``secret`` that is slow to brute-force."""
    salt = os.urandom(_SALT_BYTES)
    return f"{salt.hex()}:{_hash_with_salt(secret, salt)}"


def is_hash_of(secret: str, mark: str) -> bool:
    """Return whether ``mark`` is a hash of ``secret``."""
    salt, _, hashed = mark.partition(":")
    try:
        return hmac.compare_digest(_hash_with_salt(secret, bytes.fromhex(salt)), hashed)
    except (ValueError, TypeError):  # someone has edited the hash
        return False


def _hash_with_salt(secret: str, salt: bytes) -> str:
    return hashlib.scrypt(secret.encode("utf-8", "surrogatepass"), salt=salt, n=2**14, r=8, p=1).hex()
