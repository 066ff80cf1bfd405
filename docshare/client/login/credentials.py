"""``credentials.json``: one credential per profile, each bound to the origin it was saved for. Mode 0600.

The command line and the library read and renew it, in any number of processes.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from docshare.client.errors import LocalFileError, MissingCredential

if TYPE_CHECKING:
    from docshare.client.oauth import IssuedTokens

FILE_NAME = "credentials.json"
_UNREADABLE_HINT = "Delete it and log in again."
RENEWAL_MARGIN_MS = 60_000  # time for a request to arrive before the token expires, despite clock skew
_OPTIONAL = {"refresh": str, "expires_at": int, "client_id": str, "scopes": str, "account": str}


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

    def __repr__(self) -> str:
        return f"Credential(origin={self.origin!r}, token=***, expires_at={self.expires_at})"

    @property
    def is_renewable(self) -> bool:
        """Return whether it was granted by OAuth and can be renewed."""
        return self.refresh is not None and self.client_id is not None

    def is_due(self, now: int) -> bool:
        """Return whether it must be renewed before use; ``now`` in milliseconds since 1970."""
        return self.expires_at is not None and now >= self.expires_at - RENEWAL_MARGIN_MS


def build_credential(origin: str, client_id: str, tokens: "IssuedTokens", now: int) -> Credential:
    """Return the credential to save for ``tokens`` issued at ``now`` (ms)."""
    ends = now + tokens.expires_in * 1000
    return Credential(origin, tokens.access, tokens.refresh, ends, client_id, tokens.scopes)


def load_credential(directory: Path, profile: str) -> Credential | None:
    """Return the credential saved for a profile, or None. Raise ``MissingCredential`` if the file cannot be read."""
    saved = _read(directory / FILE_NAME).get(profile)
    if not isinstance(saved, dict) or not all(isinstance(saved.get(key), str) for key in ("origin", "token")):
        return None
    more = {key: saved[key] for key, kind in _OPTIONAL.items() if _is_value(saved.get(key), kind)}
    return Credential(saved["origin"], saved["token"], **more)


def _is_value(value: Any, kind: type) -> bool:
    """Return whether ``value`` has the type ``kind``, and could be sent: tokens and ids are ASCII."""
    return isinstance(value, kind) and (not isinstance(value, str) or value.isascii())


def save_credential(directory: Path, profile: str, credential: Credential | None) -> None:
    """Save the credential of a profile; None deletes it. Raise as ``load_credential`` does, and ``LocalFileError`` if
    the file cannot be written."""
    import json

    from docshare.private_files import replace_file

    path = directory / FILE_NAME
    with _hold_lock(directory / ".lock"):
        saved = _read(path)
        if credential is None:
            if saved.pop(profile, None) is None:
                return
        else:
            saved[profile] = {key: value for key, value in credential._asdict().items() if value is not None}
        text = json.dumps({"version": 1, "profiles": saved}, indent=2) + "\n"
        try:
            replace_file(path, text, private=True)
        except OSError as error:
            raise _write_error(path, error) from error


def renew_credential(
    directory: Path,
    profile: str,
    exchange: "Callable[[Credential], IssuedTokens]",
    *,
    is_needed: Callable[[Credential], bool],
    now: Callable[[], int],
) -> Credential | None:
    """Exchange the refresh token of a profile, save the new pair, and return it; None if there is nothing to renew.

    Only one process and thread renews at a time. The one that waited reads the credential again, and ``is_needed``
    decides about that one: a refresh token works only once, and using it twice revokes the login. If ``exchange``
    raises, the file keeps the old credential. Raise also as ``save_credential`` does, before the exchange where
    possible.
    """
    with _hold_lock(directory / ".renewing"):
        held = load_credential(directory, profile)
        if held is None or held.refresh is None or held.client_id is None:
            return None
        if not is_needed(held):
            return held
        # If the disk is full or the file read-only, fail while the saved refresh token still works.
        _require_writable(directory)
        tokens = exchange(held)
        renewed = build_credential(held.origin, held.client_id, tokens, now())._replace(account=held.account)
        save_credential(directory, profile, renewed)
        return renewed


def _require_writable(directory: Path) -> None:
    """Replace the file by an equal one. Raise ``LocalFileError`` if that fails."""
    from docshare.private_files import replace_file

    path = directory / FILE_NAME
    with _hold_lock(directory / ".lock"):
        try:
            replace_file(path, path.read_bytes(), private=True)
        except OSError as error:
            raise _write_error(path, error) from error


@contextmanager
def _hold_lock(path: Path) -> Iterator[None]:
    from docshare.private_files import LockError, hold_lock

    try:
        with hold_lock(path):
            yield
    except LockError as error:
        raise _write_error(path, error) from error


def _write_error(path: Path, error: OSError) -> LocalFileError:
    return LocalFileError(f"cannot write {path}: {error.strerror or error}")


def _read(path: Path) -> dict[str, Any]:
    from docshare.private_files import read_file

    try:
        text = read_file(path).decode("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise MissingCredential(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:  # not UTF-8
        raise MissingCredential(f"cannot read {path}: {error}", hint=_UNREADABLE_HINT) from error
    import json

    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MissingCredential(f"cannot read {path}: {error}", hint=_UNREADABLE_HINT) from error
    profiles = data.get("profiles") if isinstance(data, dict) else None
    return profiles if isinstance(profiles, dict) else {}
