"""Build command lines and environments for the processes of this package, without the server's secrets."""

import os
import sys

_SEARCH_PATH = "/usr/local/bin:/usr/bin:/bin"
_INHERITED_VARIABLES = ("LD_LIBRARY_PATH", "PYTHONHOME")


def python_command(module: str, *arguments: str) -> tuple[list[str], dict[str, str]]:
    """Return the command line and the environment of a process that runs ``module`` with ``arguments``.

    The process has the module search path of this one.
    """
    kept = {name: os.environ[name] for name in _INHERITED_VARIABLES if name in os.environ}
    module_path = os.pathsep.join(folder for folder in sys.path if folder)
    return [sys.executable, "-P", "-m", module, *arguments], {"PATH": _SEARCH_PATH, "PYTHONPATH": module_path, **kept}


def soffice_environment(home: str) -> dict[str, str]:
    """Return the environment of a LibreOffice process that can write only to ``home``."""
    return {
        "PATH": _SEARCH_PATH,
        "HOME": home,
        "TMPDIR": home,
        "LANG": "C.UTF-8",
        "SAL_USE_VCLPLUGIN": "svp",
        "SAL_DISABLE_OPENCL": "1",
    }
