"""How the processes of this package are started: with nothing of the server's environment but what finds Python."""

import os
import sys

_SEARCH_PATH = "/usr/local/bin:/usr/bin:/bin"
_INHERITED_VARIABLES = ("LD_LIBRARY_PATH", "PYTHONHOME")


def python_command(module: str, *arguments: str) -> tuple[list[str], dict[str, str]]:
    """Command line and environment of a process that runs ``module`` with ``arguments``.

    It finds modules exactly where this process does, wherever the program is installed.
    """
    kept = {name: os.environ[name] for name in _INHERITED_VARIABLES if name in os.environ}
    places = os.pathsep.join(place for place in sys.path if place)
    return [sys.executable, "-P", "-m", module, *arguments], {"PATH": _SEARCH_PATH, "PYTHONPATH": places, **kept}


def soffice_environment(home: str) -> dict[str, str]:
    """The environment of LibreOffice whose one writable directory is ``home``."""
    return {
        "PATH": _SEARCH_PATH,
        "HOME": home,
        "TMPDIR": home,
        "LANG": "C.UTF-8",
        "SAL_USE_VCLPLUGIN": "svp",
        "SAL_DISABLE_OPENCL": "1",
    }
