"""Entry point. Two requests are answered before anything but ``sys`` is loaded: ``--version`` and completion."""

import gc
import sys

from docshare import __version__


def version_line() -> str:
    """What ``--version`` prints."""
    return f"docshare {__version__} (python {'.'.join(map(str, sys.version_info[:3]))}, API v1)"


def main() -> int:
    """Run the command line of this process; returns the exit code."""
    argv = sys.argv[1:]
    if argv == ["--version"]:
        print(version_line())  # noqa: T201
        return 0
    if argv[:1] == ["__complete"]:
        from docshare.cli.words import answer

        return answer(argv[1:])
    gc.disable()  # until the command is loaded: importing makes objects that stay, and collecting them costs a tenth
    from docshare.cli.main import main as run

    code = run(argv)
    gc.freeze()  # the process ends: looking through everything for garbage now would be in vain
    return code


if __name__ == "__main__":
    sys.exit(main())
