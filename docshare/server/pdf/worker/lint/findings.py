"""Where the checks put what they find."""

import time
from collections import Counter

from docshare.contract.lint import LintFinding

MOST = 25  # findings of one check; a list of hundreds helps nobody
_MAX_QUOTED_CHARS = 80  # characters of a text that is quoted


class FindingCollector:
    """Collects findings, of each check at most 25 and then one that counts the others. ``budget_s``: how many seconds
    all checks together may take."""

    def __init__(self, budget_s: float) -> None:
        self._found: list[LintFinding] = []
        self._counts: Counter[str] = Counter()
        self._ends = time.monotonic() + budget_s

    def add(self, check: str, level: str, message: str, page: int | None = None) -> None:
        """Note one finding (see ``docshare.contract.lint.Finding``)."""
        self._counts[check] += 1
        if self._counts[check] <= MOST:
            self._found.append(LintFinding(check, level, page, message))

    def out_of_time(self) -> bool:
        """Whether the checks have used up their time."""
        return time.monotonic() > self._ends

    def all(self, pages: int) -> list[LintFinding]:
        """Return everything found, in the order it was found, about a document that readers see ``pages`` pages of.

        A damaged file may list more of them, which have no number for readers.
        """
        more = [
            LintFinding(check, next(known.level for known in self._found if known.check == check), None,
                    f"And in {count - MOST} more places.")
            for check, count in self._counts.items() if count > MOST
        ]  # fmt: skip
        found = [each._replace(page=None) if (each.page or 0) > pages else each for each in self._found]
        return [*found, *more]


def quote(text: str) -> str:
    """``text`` in quotation marks, cut to what fits a line."""
    line = " ".join(text.split())
    return f'"{line}"' if len(line) <= _MAX_QUOTED_CHARS else f'"{line[: _MAX_QUOTED_CHARS - 1]}…"'


def join_quoted(names: Counter[str], most: int = 5) -> str:
    """The names, each once, as a list for a sentence."""
    shown = [quote(name) for name in list(names)[:most]]
    return ", ".join(shown) + (f" and {len(names) - most} more" if len(names) > most else "")


def count_of(count: int, one: str, many: str = "") -> str:
    """``1 file`` or ``3 files``."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
