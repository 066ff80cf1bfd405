"""The texts of ``docshare help TOPIC`` and of the manual pages in section 7.

Read ``names`` first: the topics in their order. Each is a text file: a summary line, then paragraphs, ``# headings``,
rows of ``  term  meaning``, and examples indented by four spaces. A line ``@name`` is replaced by a table generated
from the code by ``tables``, so that the two cannot differ. It imports ``framework``, the contract, and for a table
``main``.
"""

from collections.abc import Iterable
from pathlib import Path

from docshare import __version__
from docshare.cli.topics.names import SAMPLES as SAMPLES
from docshare.cli.topics.names import TOPICS as TOPICS


def load(topic: str) -> str:
    """Return the text of a topic with its tables filled in."""
    text = (Path(__file__).parent / f"{topic}.txt").read_text(encoding="utf-8")
    lines = (_render_table(line[1:]) if line.startswith("@") else [line] for line in text.splitlines())
    return "\n".join(line for group in lines for line in group) + "\n"


def _render_table(name: str) -> Iterable[str]:
    from docshare.cli.topics.tables import TABLES  # most topics have no table

    return TABLES[name]()


def load_sample(name: str) -> str:
    """Return the text of a file to copy, with this version of docshare where a version is pinned."""
    return read_sample(name).replace("@VERSION@", __version__)


def read_sample(name: str) -> str:
    """Return the text of a file to copy, with ``@VERSION@`` where a version is pinned."""
    return (Path(__file__).parent / "samples" / name).read_text(encoding="utf-8")


def read_summary(topic: str) -> str:
    """Return the first line of a topic."""
    with open(Path(__file__).parent / f"{topic}.txt", encoding="utf-8") as lines:
        return lines.readline().strip()
