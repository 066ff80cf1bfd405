"""The names and lines of the files that cache completion words. Completion needs this module on every TAB, so it
imports only what ``directories`` imports."""

from collections.abc import Iterable

from docshare.directories import resolve_directory as resolve_directory

BUILT_IN_ORIGIN = "http://127.0.0.1:8787"
ACCOUNTS_FILE = "accounts"  # see ``docshare.cli.local.accounts``
_VALUE_CHARS = "_.:/@-"
_DESCRIPTION_CHARS = " .,()@+-_"
_MAX_DESCRIPTION = 60


def cache_file_name(kind: str, origin: str, account: str) -> str:
    """Return the name of the cache file with the words of ``kind`` for one account of one server."""
    return f"{kind}-" + "".join(char if char.isalnum() or char in ".-" else "_" for char in f"{origin}-{account}")


def parse_origin(url: str) -> str:
    """Return scheme, host and non-default port of a URL, like ``client.address.parse_origin``, which imports slowly."""
    scheme, _, rest = url.partition("://")
    host = rest.replace("?", "/").replace("#", "/").partition("/")[0].rpartition("@")[2]
    port = {"https": ":443", "http": ":80"}.get(scheme.lower(), ":")
    return f"{scheme}://{host.removesuffix(port)}".lower()


def hash_credential(source: str) -> str:
    """Return a name for a credential that does not reveal it; ``source``: the token, or the command that prints it."""
    from hashlib import sha256

    return sha256(source.encode(errors="surrogateescape")).hexdigest()[:16]


def find_account(lines: Iterable[str], origin: str, name: str) -> str | None:
    """Return the UUID of the account of the credential ``name``, from the ``lines`` of ``ACCOUNTS_FILE``.

    Return an empty string if the server at ``origin`` refuses to report it, and None if it is unknown here.
    """
    start = f"{origin}\t{name}\t"
    found = next((line.removeprefix(start) for line in lines if line.startswith(start)), None)
    return found if found == "" or has_uuid_form(found or "") else None


def has_uuid_form(name: str) -> bool:
    """Return whether ``name`` looks like the UUID of an account and not like the hash of a credential.

    ``contract.patterns`` has the rule for UUIDs; it imports ``re``, which takes as long as all else that a TAB loads.
    """
    parts = name.split("-")
    return [len(part) for part in parts] == [8, 4, 4, 4, 12] and name.isascii() and all(map(str.isalnum, parts))


def format_line(value: str, description: str) -> str:
    """Return ``value<TAB>description`` without shell metacharacters; empty if no value is left."""
    if not value or not all(char.isascii() and (char.isalnum() or char in _VALUE_CHARS) for char in value):
        return ""
    words = "".join(char for char in description if char.isalnum() or char in _DESCRIPTION_CHARS)
    return f"{value}\t{words[:_MAX_DESCRIPTION].strip()}".rstrip()
