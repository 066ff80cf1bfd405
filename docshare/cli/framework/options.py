"""The values of the global options, as plain data, and options that take a duration or several words.

``main.root`` declares the global options."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import typer

from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.terminal.text import parse_duration

FORMATS = ("table", "plain", "csv", "tsv", "json", "jsonl", "ids")
JSON_FORMATS = ("json", "jsonl")
PROGRESS_MODES = ("auto", "bar", "plain", "json", "none")
COLOR_MODES = ("always", "auto", "never")


class GlobalOptions(NamedTuple):
    """The global options as given; None or False if not given. Times in seconds."""

    profile: str | None = None
    url: str | None = None
    format: str | None = None
    fields: str | None = None
    query: str | None = None
    template: str | None = None
    header: bool | None = None
    raw_csv: bool = False
    quiet: bool = False
    verbose: int = 0
    color: str | None = None
    progress: str = "auto"
    no_input: bool = False
    yes: bool = False
    timeout: float | None = None
    deadline: float | None = None
    retries: int | None = None
    max_wait: float | None = None
    allow_http: bool = False
    ca_bundle: str | None = None


def parse_early_options(front: Sequence[str]) -> GlobalOptions:
    """Return options for failures before the line is parsed; they only say whether errors are printed as JSON."""
    words = " ".join(front).replace("--format ", "--format=").split()
    as_json = "--json" in words or any(f"--format={word}" in words for word in JSON_FORMATS)
    return GlobalOptions(format="json" if as_json else None)


def duration_option(help: str) -> Any:
    """Return an option that takes a duration such as ``20s``: it checks the text, which ``parse_duration`` reads."""
    return typer.Option(metavar="TIME", callback=_check_duration, help=help)


def _check_duration(text: str | None) -> str | None:
    if text is not None:
        try:
            parse_duration(text)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None
    return text


def split_words(given: Sequence[str] | None) -> list[str]:
    """Return the words of an option that can be repeated, and each time can have several words with commas between."""
    return [word.strip() for value in given or () for word in value.split(",")]


def parse_directory(text: str) -> Path:
    """Return the path ``text`` of ``--data``. Raise Stop (2) if it is empty, as an unset variable of a script is: that
    would be the current directory."""
    if not text:
        raise Stop(ExitCode.USAGE, "--data must not be empty", hint="Is the variable set that should name it?")
    return Path(text)
