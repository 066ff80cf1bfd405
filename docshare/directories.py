"""The directories of configuration, state and cache on this machine, for the command line and the library.

This module imports only ``os`` and ``sys``, because completion needs it on every TAB.

The paths are those of platformdirs (a test compares them), which takes longer to import than all of completion and
reads only the environment of the process. ``pyproject.toml`` has the figures.
"""

import os
import sys
from collections.abc import Mapping

_APP = "docshare"
_XDG = {
    "config": ("XDG_CONFIG_HOME", ".config"),
    "state": ("XDG_STATE_HOME", ".local/state"),
    "cache": ("XDG_CACHE_HOME", ".cache"),
    "data": ("XDG_DATA_HOME", ".local/share"),
}
_MAC = {"cache": "Library/Caches"}


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
