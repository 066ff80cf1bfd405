"""``credentials.json``: one credential per profile, each bound to the origin it was saved for. Mode 0600."""

import os
from pathlib import Path
from typing import Any, NamedTuple

from docshare.cli.framework.exits import ExitCode, Stop

FILE_NAME = "credentials.json"


class Credential(NamedTuple):
    """A saved credential.

    ``origin``: the only scheme, host and port the ``token`` may be sent to. An OAuth token expires at ``expires_at``
    (ms) and is renewed with ``refresh`` by the app ``client_id``; ``scopes``: the granted scopes; ``account``: the UUID
    of its account, if known.
    """

    origin: str
    token: str
    refresh: str | None = None
    expires_at: int | None = None
    client_id: str | None = None
    scopes: str | None = None
    account: str | None = None

    @property
    def is_renewable(self) -> bool:
        """Return whether it was granted by OAuth and can be renewed."""
        return self.refresh is not None and self.client_id is not None


_OPTIONAL = {"refresh": str, "expires_at": int, "client_id": str, "scopes": str, "account": str}


def load(directory: Path, profile: str) -> Credential | None:
    """Return the credential saved for a profile, or None. Raise Stop (2) if the file cannot be read."""
    saved = _read(directory / FILE_NAME).get(profile)
    if not isinstance(saved, dict) or not all(isinstance(saved.get(key), str) for key in ("origin", "token")):
        return None
    more = {key: saved[key] for key, kind in _OPTIONAL.items() if isinstance(saved.get(key), kind)}
    return Credential(saved["origin"], saved["token"], **more)


def save(directory: Path, profile: str, credential: Credential | None) -> None:
    """Save the credential of a profile; None deletes it."""
    import json

    from docshare.cli.local.storage import hold_lock, replace_file

    path = directory / FILE_NAME
    with hold_lock(directory / ".lock"):
        saved = _read(path)
        if credential is None:
            if saved.pop(profile, None) is None:
                return
        else:
            saved[profile] = {key: value for key, value in credential._asdict().items() if value is not None}
        replace_file(path, json.dumps({"version": 1, "profiles": saved}, indent=2) + "\n", private=True)


def is_readable_by_others(directory: Path) -> bool:
    """Return whether the file grants access to group or others (False on Windows, where the user's directory protects
    it).
    """
    try:
        mode = (directory / FILE_NAME).stat().st_mode
    except OSError:
        return False
    return os.name == "posix" and bool(mode & 0o077)


def _read(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise Stop(ExitCode.USAGE, f"cannot read {path}: {error.strerror}") from error
    import json

    try:
        data = json.loads(text)
    except ValueError as error:
        raise Stop(ExitCode.USAGE, f"cannot read {path}: {error}", hint="Delete it and log in again.") from error
    profiles = data.get("profiles") if isinstance(data, dict) else None
    return profiles if isinstance(profiles, dict) else {}
