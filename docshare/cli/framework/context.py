"""The object that holds everything outside the program: environment, streams, clock, paths, and options.

A command begins with ``ctx = current_context()`` and uses ``ctx.client()``, ``ctx.emit(...)``, ``ctx.note(...)``. Tests
build their own ``Context`` and pass it to ``main.main``.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TextIO

from docshare.cli.framework.exits import UNWRITABLE, ClosedPipe, ExitCode, Stop
from docshare.cli.framework.options import GlobalOptions
from docshare.cli.local import paths
from docshare.cli.terminal.capabilities import Screen, detect_screen, is_enabled
from docshare.cli.terminal.output import Emitter, Spec
from docshare.cli.terminal.text import clean

if TYPE_CHECKING:
    from docshare.cli.framework.connection import Connection
    from docshare.cli.local.config import CliConfig
    from docshare.client import Client


def _open_browser(url: str) -> bool:
    import webbrowser

    return webbrowser.open(url)


class Context:
    """The environment of one command.

    ``env``: environment variables; the three streams and whether each is a terminal; ``now``: milliseconds since 1970
    UTC; ``monotonic`` and ``sleep``: in seconds; ``open_browser``: opens a URL and returns whether that worked;
    ``options``: the global options; ``secrets``: values to redact from every message and report.

    It is not a dataclass: its repr must not print secrets, and importing dataclasses would slow down every start.
    """

    def __init__(
        self,
        *,
        env: Mapping[str, str],
        streams: tuple[TextIO, TextIO, TextIO],
        terminals: tuple[bool, bool, bool],
        now: Callable[[], int],
        monotonic: Callable[[], float],
        sleep: Callable[[float], None],
        open_browser: Callable[[str], bool],
    ) -> None:
        self.env = env
        self.stdin, self.stdout, self.stderr = streams
        self.stdin_tty, self.stdout_tty, self.stderr_tty = terminals
        self.now = now
        self.monotonic = monotonic
        self.sleep = sleep
        self.open_browser = open_browser
        self.options = GlobalOptions()
        self.secrets: set[str] = set()
        self.words: list[str] = []  # the command line without global options
        self.is_endless = False  # whether the command waits, so that Ctrl-C is not a failure
        self.log: Callable[[str, str], None] | None = None  # receives notes and their role instead of standard error
        self.pending_output: list[str] = []  # data to print on standard error if standard output fails

    def derive(self, *, env: Mapping[str, str], sleep: Callable[[float], None]) -> "Context":
        """Return a context with another environment and the same streams, options and secrets, but no cached state."""
        made = Context(
            env=env,
            streams=(self.stdin, self.stdout, self.stderr),
            terminals=(self.stdin_tty, self.stdout_tty, self.stderr_tty),
            now=self.now,
            monotonic=self.monotonic,
            sleep=sleep,
            open_browser=self.open_browser,
        )
        made.options, made.secrets, made.log = self.options, self.secrets, self.log
        return made

    # --- where things live -----------------------------------------------------------------------------------------

    @property
    def config_dir(self) -> Path:
        """Return the directory of ``config.toml`` and ``credentials.json``."""
        return Path(paths.resolve_directory("config", self.env))

    @property
    def state_dir(self) -> Path:
        """Return the directory of cursors, the last upload, manifests and ``crash.log``."""
        return Path(paths.resolve_directory("state", self.env))

    @property
    def cache_dir(self) -> Path:
        """Return the directory of files that may be deleted at any time, such as completion words."""
        return Path(paths.resolve_directory("cache", self.env))

    @property
    def data_dir(self) -> Path:
        """Return the data directory of the bundled server."""
        return Path(paths.resolve_directory("data", self.env))

    # --- identity and server ---------------------------------------------------------------------------------------

    @cached_property
    def config(self) -> "CliConfig":
        """Return the settings of ``config.toml``, read on first use."""
        from docshare.cli.local.config import CliConfig

        config = CliConfig.load(self.config_dir)
        for key in config.unknown_keys:
            self.warn(f"{config.path}: unknown key {key}")
        return config

    @cached_property
    def connection(self) -> "Connection":
        """Return the URL and credential in effect, each with its origin."""
        from docshare.cli.framework.connection import resolve_connection

        return resolve_connection(self)

    def client(self) -> "Client":
        """Return a client of the server in effect.

        Raise Stop (4) if there is no credential for that server: nothing is sent without one.
        """
        from docshare.cli.framework.connection import make_client

        return make_client(self)

    # --- standard output: data only --------------------------------------------------------------------------------

    @cached_property
    def out_screen(self) -> Screen:
        """Return the capabilities of standard output."""
        return detect_screen(self.stdout, self.stdout_tty, self.env, self.options.color)

    def emit(self, data: Any, spec: Spec) -> None:
        """Print an object or a list of objects in the requested format."""
        self.emitter(spec).emit(data)

    def emitter(self, spec: Spec) -> Emitter:
        """Return the printer for commands that print row by row (``emitter.row(...)`` flushes each)."""
        return Emitter(self, spec)

    def print(self, text: str) -> None:
        """Print one line of data on standard output."""
        self.write(text + "\n")

    def write(self, data: str | bytes) -> None:
        """Write data to standard output unchanged; raise ClosedPipe if the reader has gone."""
        try:
            if isinstance(data, bytes):
                self.stdout.flush()
                binary_stream(self.stdout).write(data)
            else:
                self.stdout.write(data)
        except BrokenPipeError:
            raise ClosedPipe from None
        except OSError as error:
            raise _unwritable_error(error) from error

    def flush(self) -> None:
        """Flush standard output."""
        try:
            self.stdout.flush()
        except BrokenPipeError:
            raise ClosedPipe from None
        except OSError as error:
            raise _unwritable_error(error) from error
        self.pending_output.clear()

    # --- standard error: for people --------------------------------------------------------------------------------

    @cached_property
    def err_screen(self) -> Screen:
        """Return the capabilities of standard error."""
        return detect_screen(self.stderr, self.stderr_tty, self.env, self.options.color)

    def err(self, text: str, role: str = "") -> None:
        """Print one line for people, without control characters; ``--quiet`` does not suppress it.

        A closed stderr is not an error.
        """
        if self.log is not None:
            self.log(self.sanitize(text), role)
            return
        self.err_raw(self.err_screen.paint(role, self.sanitize(text)) + "\n")

    def err_raw(self, text: str) -> None:
        """Write text to standard error unchanged (progress bars, prompts); the caller has cleaned it."""
        try:
            self.stderr.write(text)
            self.stderr.flush()
        except (OSError, ValueError):
            return

    def note(self, text: str) -> None:
        """Print a note, unless ``--quiet`` is given."""
        if not self.options.quiet:
            self.err(text, "dim")

    def warn(self, text: str) -> None:
        """Print a warning, even with ``--quiet``."""
        self.err(f"warning: {text}", "warn")

    def trace(self, text: str, level: int = 1) -> None:
        """Print a line with ``-v`` (level 1) or ``-vv`` (level 2)."""
        if self.options.verbose >= level:
            self.err(text, "dim")

    def sanitize(self, text: str) -> str:
        """Return ``text`` for a terminal: one line, no control characters, no secrets."""
        return clean(self.redact(text))

    def redact(self, text: str) -> str:
        """Return ``text`` with all known secrets redacted."""
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text

    # --- prompting -------------------------------------------------------------------------------------------------

    @property
    def is_ci(self) -> bool:
        """Return whether the environment indicates a CI job."""
        return is_enabled(self.env, "CI")

    @property
    def may_prompt(self) -> bool:
        """Return whether prompting is possible and allowed: stdin and stderr are terminals."""
        return self.stdin_tty and self.stderr_tty and not self.is_unattended

    @property
    def is_unattended(self) -> bool:
        """Return whether nobody presses keys: ``--no-input``, DOCSHARE_NO_INPUT or CI."""
        return self.options.no_input or is_enabled(self.env, "DOCSHARE_NO_INPUT") or self.is_ci


def _unwritable_error(error: OSError) -> Stop:
    return Stop(ExitCode.ERROR, f"cannot write to standard output: {error.strerror or error}", code=UNWRITABLE)


def binary_stream(stream: TextIO) -> IO[bytes]:
    """Return the byte stream of a text stream."""
    return stream.buffer


def make_system_context() -> Context:
    """Return a context of this process's environment, streams and clock."""
    streams = _open_stream("stdin"), _open_stream("stdout"), _open_stream("stderr")
    terminals = streams[0].isatty(), streams[1].isatty(), streams[2].isatty()
    for stream, terminal in zip(streams[1:], terminals[1:], strict=True):
        _make_writable(stream, terminal)
    return Context(
        env=os.environ,
        streams=streams,
        terminals=terminals,
        now=lambda: time.time_ns() // 1_000_000,
        monotonic=time.monotonic,
        sleep=time.sleep,
        open_browser=_open_browser,
    )


def _open_stream(name: str) -> TextIO:
    """Return a standard stream, or the null device for a closed one, so that no socket gets its descriptor.

    A replaced standard output is read-only, so that data is not lost silently.
    """
    stream: TextIO | None = getattr(sys, name)
    if stream is None:
        number = os.open(os.devnull, os.O_WRONLY if name == "stderr" else os.O_RDONLY)
        stream = open(number, "r" if name == "stdin" else "w")  # noqa: SIM115 - lives as long as the process
        setattr(sys, name, stream)
    return stream


class HelpOutput:
    """Standard output for Typer's help, with the same error handling as other data."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def write(self, text: str) -> int:
        """Write as a stream does; raise as ``Context.write``."""
        self._context.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush as a stream does; raise as ``Context.flush``."""
        self._context.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context.stdout, name)


def _make_writable(stream: TextIO, tty: bool) -> None:
    """Make pipes and files UTF-8 unless PYTHONIOENCODING is set; replace characters that cannot be printed."""
    if tty or os.environ.get("PYTHONIOENCODING"):
        stream.reconfigure(errors="replace")  # type: ignore[attr-defined]
    else:
        stream.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[attr-defined]


_context_stack: list[Context] = []


def current_context() -> Context:
    """Return the context of the running command."""
    return _context_stack[-1]


@contextmanager
def activate(context: Context) -> Iterator[Context]:
    """Make ``context`` the current one."""
    _context_stack.append(context)
    try:
        yield context
    finally:
        _context_stack.pop()
