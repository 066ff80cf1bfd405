"""Paths of configuration, state and cache, and the names and lines of the files that cache completion words.

This module imports only ``os`` and ``sys``, because completion needs it on every TAB.

The paths are those of platformdirs (a test compares them), which takes longer to import than all of completion and
reads only the environment of the process. ``pyproject.toml`` has the figures.
"""

import os
import sys
from collections.abc import Mapping

BUILT_IN_ORIGIN = "http://127.0.0.1:8787"
_APP = "docshare"
_XDG = {
    "config": ("XDG_CONFIG_HOME", ".config"),
    "state": ("XDG_STATE_HOME", ".local/state"),
    "cache": ("XDG_CACHE_HOME", ".cache"),
    "data": ("XDG_DATA_HOME", ".local/share"),
}
_MAC = {"cache": "Library/Caches"}
_VALUE_CHARS = "_.:/@-"
_DESCRIPTION_CHARS = " .,()@+-_"
_MAX_DESCRIPTION = 60


def resolve_directory(kind: str, env: Mapping[str, str], platform: str = sys.platform) -> str:
    """Return the directory of ``kind`` (config, state, cache or data); ``DOCSHARE_<KIND>_DIR`` overrides it."""
    named = env.get(f"DOCSHARE_{kind.upper()}_DIR", "").strip()
    if named:
        return os.path.abspath(os.path.expanduser(named))
    if platform == "win32":
        local = env.get("LOCALAPPDATA") or os.path.join(_find_home(env), "AppData", "Local")
        return os.path.join(local, _APP, "Cache") if kind == "cache" else os.path.join(local, _APP)
    variable, folder = _XDG[kind]
    base = env.get(variable, "").strip()
    if os.path.isabs(base):
        return os.path.join(base, _APP)
    if platform == "darwin":
        folder = _MAC.get(kind, "Library/Application Support")
    return os.path.join(_find_home(env), folder, _APP)


def _find_home(env: Mapping[str, str]) -> str:
    return env.get("HOME") or os.path.expanduser("~")


def cache_file_name(kind: str, origin: str, account: str) -> str:
    """Return the name of the cache file with the words of ``kind`` for one account of one server."""
    return f"{kind}-" + "".join(char if char.isalnum() or char in ".-" else "_" for char in f"{origin}-{account}")


def parse_origin(url: str) -> str:
    """Return scheme, host and non-default port of a URL, like ``client.address.parse_origin``, which imports slowly."""
    scheme, _, rest = url.partition("://")
    host = rest.replace("?", "/").replace("#", "/").partition("/")[0].rpartition("@")[2]
    port = {"https": ":443", "http": ":80"}.get(scheme.lower(), ":")
    return f"{scheme}://{host.removesuffix(port)}".lower()


def hash_token(token: str) -> str:
    """Return a name for the account of a credential that does not reveal the credential."""
    from hashlib import sha256

    return sha256(token.encode(errors="surrogateescape")).hexdigest()[:16]


def format_line(value: str, description: str) -> str:
    """Return ``value<TAB>description`` without shell metacharacters; empty if no value is left."""
    if not value or not all(char.isascii() and (char.isalnum() or char in _VALUE_CHARS) for char in value):
        return ""
    words = "".join(char for char in description if char.isalnum() or char in _DESCRIPTION_CHARS)
    return f"{value}\t{words[:_MAX_DESCRIPTION].strip()}".rstrip()
