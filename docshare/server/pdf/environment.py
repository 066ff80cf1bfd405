"""The environment variables of a worker process."""

import os
from pathlib import Path

import docshare

# glibc gives big buffers back to the system and faults them in again for every page; that doubles the time of a page.
_MALLOC = {
    "MALLOC_TRIM_THRESHOLD_": str(256 << 20),
    "MALLOC_MMAP_THRESHOLD_": str(256 << 20),
    "MALLOC_ARENA_MAX": "1",
}
# Nothing else of the environment is handed on: secrets of the server stay out of the reach of hostile documents.
_KEPT = ("HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PATH", "PYTHONHOME", "PYTHONPATH", "PYTHONUSERBASE")
_PATHS = ("LD_LIBRARY_PATH", "PYTHONHOME", "PYTHONPATH", "PYTHONUSERBASE")


def _started_in() -> str:
    """The working directory, or the root directory where it is gone."""
    try:
        return os.getcwd()
    except OSError:
        return "/"


# Learned while they can be: a working directory may be removed under a server that runs for months.
_STARTED_IN = _started_in()
_ROOT = Path(_STARTED_IN, docshare.__file__).resolve().parent.parent


def of_worker() -> dict[str, str]:
    """Return what a worker gets to know: where Python and this package are, and how to use memory.

    It is started in another directory, so no path is relative.
    """
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    kept |= {name: _absolute(kept[name]) for name in _PATHS if kept.get(name)}
    if _ROOT.name not in ("site-packages", "dist-packages"):  # run from a checkout, not installed
        kept["PYTHONPATH"] = os.pathsep.join(filter(None, (str(_ROOT), kept.get("PYTHONPATH"))))
    return {**kept, **_MALLOC}


def _absolute(paths: str) -> str:
    """The list ``paths`` as it was meant in the directory in which this process was started."""
    return os.pathsep.join(os.path.join(_STARTED_IN, path) for path in paths.split(os.pathsep))
