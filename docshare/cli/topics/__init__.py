"""The texts of ``docshare help TOPIC`` and of the manual pages in section 7.

Read ``names`` first: the topics in their order. Each is a text file: a summary line, then paragraphs, ``# headings``,
rows of ``  term  meaning``, and examples indented by four spaces. A line ``@name`` is replaced by a table generated
from the code, so that the two cannot differ. It imports ``framework`` and ``terminal``; other modules only for a table,
inside functions.
"""

import textwrap
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from docshare import __version__
from docshare.cli.framework.exits import MEANINGS
from docshare.cli.topics.names import SAMPLES as SAMPLES
from docshare.cli.topics.names import TOPICS as TOPICS
from docshare.contract.amounts import format_size

_WIDTH = 78


def load(topic: str) -> str:
    """Return the text of a topic with its tables filled in."""
    text = (Path(__file__).parent / f"{topic}.txt").read_text(encoding="utf-8")
    lines = (_TABLES[line[1:]]() if line.startswith("@") else [line] for line in text.splitlines())
    return "\n".join(line for group in lines for line in group) + "\n"


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


def render_rows(pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield aligned and wrapped ``  term  meaning`` lines; a long term gets a separate line."""
    table = list(pairs)
    indent = min(max(len(term) for term, _ in table), 22) + 4
    for term, meaning in table:
        lines = textwrap.wrap(meaning, _WIDTH - indent, break_on_hyphens=False) or [""]
        if len(term) + 4 > indent:
            yield f"  {term}"
        else:
            yield f"  {term:<{indent - 4}}  {lines.pop(0)}".rstrip()
        yield from (" " * indent + line for line in lines)


def _render_exit_codes() -> Iterator[str]:
    return render_rows((str(int(code)), meaning) for code, meaning in MEANINGS.items())


def _render_global_options() -> Iterator[str]:
    from docshare.cli.reference.tree import global_options

    return render_rows(
        (f"{', '.join(option.names)} {option.metavar}".strip(), option.help) for option in global_options()
    )


def _render_plans() -> Iterator[str]:
    from docshare.contract.plans import DAY, PLAN_LIMITS

    table = []
    for plan, limits in PLAN_LIMITS.items():
        slots = f"{limits.file_slots} files" if limits.file_slots is not None else "unlimited files"
        trash = f"trash kept {limits.trash_ms // DAY} days" if limits.trash_ms is not None else "no trash"
        table.append((plan.tier, f"{slots}, PDFs up to {format_size(limits.stored_bytes)}, {trash}"))
    return render_rows(table)


def _render_webhook_kinds() -> Iterator[str]:
    from docshare.contract.plans import Plan
    from docshare.contract.webhooks import KINDS

    table = []
    for name, kind in KINDS.items():
        keys = ", ".join(kind.required_keys) or "no further keys"
        optional = f"; if applicable, {', '.join(kind.optional_keys)}" if kind.optional_keys else ""
        plan = f" {kind.plan.tier.title()} only." if kind.plan > Plan.FREE else ""
        fires = kind.trigger_text[0].upper() + kind.trigger_text[1:]
        table.append((name, f"{fires}. Data: {keys}{optional}.{plan}"))
    return render_rows(table)


_TABLES: dict[str, Callable[[], Iterable[str]]] = {
    "exit-codes": _render_exit_codes,
    "global-options": _render_global_options,
    "plans": _render_plans,
    "webhook-kinds": _render_webhook_kinds,
}
