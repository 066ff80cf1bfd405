"""Entry point. Two requests are answered before anything but ``sys`` is loaded: ``--version`` and completion."""

import gc
import sys

from docshare import version_line


def print_version() -> int:
    """Answer ``--version``; 1 where standard output is closed or full."""
    try:
        if sys.stdout is None:
            raise OSError("it is closed")
        print(version_line(), flush=True)  # noqa: T201
    except OSError as error:
        sys.stdout = None  # or the interpreter tries once more at its end, and complains
        if sys.stderr is not None:
            print(f"error: cannot write to standard output: {error.strerror or error}", file=sys.stderr)  # noqa: T201
        return 1
    return 0


def main() -> int:
    """Run the command line of this process; returns the exit code."""
    argv = sys.argv[1:]
    if argv == ["--version"]:
        return print_version()
    if argv[:1] == ["__complete"]:
        from docshare.cli.local.completion_words import print_completions

        return print_completions(argv[1:])
    # Importing makes objects that stay, and the collector would look through them again and again: without its pause
    # here, help takes 7.3 times as long as ``python -c pass`` and not 6.0, the target.
    gc.disable()
    try:
        from docshare.cli.main import main as run

        code = run(argv)
    except KeyboardInterrupt:  # before the command was loaded, which deals with it by itself
        return 130
    gc.freeze()  # the process ends: a last collection would look through everything, 8 % of the instructions of help
    return code


if __name__ == "__main__":
    sys.exit(main())
