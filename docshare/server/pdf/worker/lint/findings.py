"""Collect findings and format their messages."""

import time
from collections import Counter

from docshare.contract.amounts import format_plural
from docshare.contract.lint import LintFinding

MOST = 25  # findings listed per check
_MAX_QUOTED_CHARS = 80


class FindingCollector:
    """Collects findings: at most 25 of each check, and one that counts the rest. ``budget_s`` is the time limit of all
    checks together, in seconds."""

    def __init__(self, budget_s: float) -> None:
        self._found: list[LintFinding] = []
        self._counts: Counter[str] = Counter()
        self._ends = time.monotonic() + budget_s

    def add(self, check: str, level: str, message: str, page: int | None = None) -> None:
        """Add a finding (see ``docshare.contract.lint.LintFinding``)."""
        self._counts[check] += 1
        if self._counts[check] <= MOST:
            self._found.append(LintFinding(check, level, page, message))

    def is_out_of_time(self) -> bool:
        """Return whether the time limit is exceeded."""
        return time.monotonic() > self._ends

    def list_findings(self, pages: int) -> list[LintFinding]:
        """Return all findings in the order of ``add``, for a document with ``pages`` pages.

        Findings on later pages get no page number: a damaged file can list pages that viewers do not show.
        """
        more = [
            LintFinding(check, next(known.level for known in self._found if known.check == check), None,
                    f"And in {format_plural(count - MOST, 'more place')}.")
            for check, count in self._counts.items() if count > MOST
        ]  # fmt: skip
        found = [each._replace(page=None) if (each.page or 0) > pages else each for each in self._found]
        return [*found, *more]


def quote(text: str) -> str:
    """Return ``text`` on one line in quotation marks, truncated to 80 characters."""
    line = " ".join(text.split())
    return f'"{line}"' if len(line) <= _MAX_QUOTED_CHARS else f'"{line[: _MAX_QUOTED_CHARS - 1]}…"'


def join_quoted(names: Counter[str], most: int = 5) -> str:
    """Return the first ``most`` names, quoted and joined by commas, and the number of others."""
    quoted = [quote(name) for name in list(names)[:most]]
    return ", ".join(quoted) + (f" and {len(names) - most} more" if len(names) > most else "")
