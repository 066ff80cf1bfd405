"""Build the environment variables of a worker process."""

import os
from pathlib import Path

import docshare

# By default, glibc returns large buffers to the kernel and faults them in again for every page, which doubles the time
# to render a page.
_MALLOC = {
    "MALLOC_TRIM_THRESHOLD_": str(256 << 20),
    "MALLOC_MMAP_THRESHOLD_": str(256 << 20),
    "MALLOC_ARENA_MAX": "1",
}
# Workers inherit only these variables, so a hostile document cannot read the server's secrets.
_KEPT = ("HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PATH", "PYTHONHOME", "PYTHONPATH", "PYTHONUSERBASE")
_PATHS = ("LD_LIBRARY_PATH", "PYTHONHOME", "PYTHONPATH", "PYTHONUSERBASE")


def _find_working_directory() -> str:
    """Return the working directory, or the root directory if it was deleted."""
    try:
        return os.getcwd()
    except OSError:
        return "/"


# Resolved at import: the working directory can be deleted while the server runs.
_WORKING_DIRECTORY = _find_working_directory()
_ROOT = Path(_WORKING_DIRECTORY, docshare.__file__).resolve().parent.parent


def of_worker() -> dict[str, str]:
    """Return the variables that locate Python and this package, and tune memory allocation.

    All paths are absolute, because workers start in another directory.
    """
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    kept |= {name: _absolute(kept[name]) for name in _PATHS if kept.get(name)}
    if _ROOT.name not in ("site-packages", "dist-packages"):  # run from a checkout, not installed
        kept["PYTHONPATH"] = os.pathsep.join(filter(None, (str(_ROOT), kept.get("PYTHONPATH"))))
    return {**kept, **_MALLOC}


def _absolute(paths: str) -> str:
    """Return the path list ``paths`` resolved against the directory in which the server was started."""
    return os.pathsep.join(os.path.join(_WORKING_DIRECTORY, path) for path in paths.split(os.pathsep))
