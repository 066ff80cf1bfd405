"""Entry point. Two requests are answered before anything but ``sys`` is loaded: ``--version`` and completion."""

import gc
import os
import sys

from docshare import version_line

# Of the C library: overwrite each block of memory that is freed, and let no thread keep freed blocks for itself.
_TUNABLES = "glibc.malloc.perturb=165:glibc.malloc.tcache_count=0"
_MARK = "erases-freed-memory"


def erase_freed_memory() -> None:
    """Start this program again with a C library that erases what it frees, such as parts of documents, and let Python
    take all of its memory from there: both can only be set before a start. Raises OSError."""
    # The mark prevents a second time. The variable does not: the system removes it if Python itself has privileges.
    if sys.platform == "linux" and _MARK not in sys._xoptions:
        own = os.environ.get("GLIBC_TUNABLES")
        os.environ["GLIBC_TUNABLES"] = f"{own}:{_TUNABLES}" if own else _TUNABLES
        os.environ.setdefault("PYTHONMALLOC", "malloc")
        os.execv(sys.executable, [sys.executable, "-X", _MARK, *sys.orig_argv[1:]])  # noqa: S606


def print_version() -> int:
    """Answer ``--version``; 1 where standard output is closed or full, 141 where its reader has gone."""
    try:
        if sys.stdout is None:
            raise OSError("it is closed")
        print(version_line(), flush=True)  # noqa: T201
    except OSError as error:
        sys.stdout = None  # or the interpreter tries once more at its end, and complains
        if isinstance(error, BrokenPipeError):
            return 141
        if sys.stderr is not None:
            print(f"error: cannot write to standard output: {error.strerror or error}", file=sys.stderr)  # noqa: T201
        return 1
    return 0


def main() -> int:
    """Run the command line of this process and return the exit code."""
    argv = sys.argv[1:]
    if argv == ["--version"]:
        return print_version()
    if argv[:1] == ["__complete"]:
        from docshare.cli.local.completion_words import print_completions

        return print_completions(argv[1:])
    if "serve" in argv and sys.orig_argv[-len(argv) :] == argv:  # else another program runs this one
        try:
            erase_freed_memory()
        except OSError as error:
            reason = f"cannot start {sys.executable or 'Python'}: {error.strerror}"
            print(f"error: {reason}", file=sys.stderr)  # noqa: T201
            return 1
    # Importing makes objects that stay, and the collector would look through them again and again. Without the settings
    # of the collector, here and in ``cli.main``, help executes 12 to 13 % more instructions and misses its target, six
    # times ``python -c pass``.
    gc.disable()
    try:
        from docshare.cli.main import main as run

        code = run(argv)
    except KeyboardInterrupt:  # before the command was loaded, which deals with it by itself
        return 130
    gc.freeze()  # the process ends: without a last collection, ``settings set`` executes 3 % fewer instructions
    return code


if __name__ == "__main__":
    sys.exit(main())
