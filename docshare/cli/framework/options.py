"""The values of the global options, as plain data, and of options with several words.

``main.root`` declares the global options."""

from collections.abc import Sequence
from typing import NamedTuple

FORMATS = ("table", "plain", "csv", "tsv", "json", "jsonl", "ids")
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


def split_words(given: Sequence[str] | None) -> list[str]:
    """Return the words of an option that can be repeated, and each time can have several words with commas between."""
    return [word.strip() for value in given or () for word in value.split(",")]
