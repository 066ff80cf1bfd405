"""The output of ``docshare lint``: one line per finding for scripts, findings with advice for people."""

import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import typer

from docshare.cli.framework import failures
from docshare.cli.framework.context import Context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.terminal.output import Column, Spec
from docshare.cli.terminal.text import clean
from docshare.contract.amounts import format_distinct_sizes, format_plural, format_size
from docshare.contract.lint import CHECKS, LEVELS, LintFinding, is_at_least
from docshare.contract.plans import PLAN_LIMITS, Plan

Row = Mapping[str, Any]

NEVER = "never"
GONE, STAYS = "gone", "stays"
_ROLES = {"error": "error", "warning": "warn", "note": "dim"}
_KEYS = ("path", "level", "check", "page", "message", "fix", "after")

FINDING_SPEC = Spec(
    table=(
        Column("path", "PATH"),
        Column("level", "LEVEL"),
        Column("check", "CHECK", role="bold"),
        Column("page", "PAGE"),
        Column("message", "MESSAGE", flexible=True),
        Column("after", "AFTER"),
    ),
    plain=_KEYS,
    fields=_KEYS,
    id="check",
)


class LintCriteria(NamedTuple):
    """The ``checks`` to run, the ``plan`` whose size limit applies (None: any), and the lowest level that fails.

    The level may be ``never``.
    """

    checks: frozenset[str]
    plan: Plan | None
    fail_on: str


def check_fail_on(value: str) -> str:
    """Return a valid value of ``--fail-on``, else raise typer.BadParameter."""
    words = ("error", "warning", NEVER)
    if value not in words:
        raise typer.BadParameter(f"{value!r} is not one of {', '.join(words)}.")
    return value


def check_plan(value: str | None) -> str | None:
    """Return a valid value of ``--plan``, else raise typer.BadParameter."""
    tiers = [plan.tier for plan in Plan]
    if value is not None and value not in tiers:
        raise typer.BadParameter(f"{value!r} is not one of {', '.join(tiers)}.")
    return value


def choose_checks(only: Sequence[str], ignore: Sequence[str]) -> frozenset[str]:
    """Return the checks that ``--only`` and ``--ignore`` select; raise Stop (2) for an unknown check."""
    for name in (*only, *ignore):
        if name not in CHECKS:
            raise Stop(ExitCode.USAGE, f"unknown check {name!r}", hint=f"Checks: {', '.join(CHECKS)}.")
    return frozenset(only or CHECKS) - frozenset(ignore)


def check_size(size: int, plan: Plan | None) -> LintFinding | None:
    """Return a finding if ``size`` bytes exceed ``plan``, or, without one, if they need a paid plan."""
    if plan is not None:
        cap = PLAN_LIMITS[plan].stored_bytes
        if size <= cap:
            return None
        shown, most = format_distinct_sizes(size, cap)
        return LintFinding("size", "error", None, f"The file is {shown}; the {plan.tier} plan allows up to {most}.")
    fitting = next((plan for plan in Plan if size <= PLAN_LIMITS[plan].stored_bytes), None)
    if fitting is None or fitting is Plan.FREE:  # larger than every plan: refused earlier
        return None
    return LintFinding(
        "size", "note", None, f"The file is {format_size(size)}, which requires the {fitting.tier} plan."
    )


class LintReport:
    """Prints the findings that the criteria ask for and counts them by level."""

    def __init__(self, context: Context, verdict: LintCriteria) -> None:
        self._ctx = context
        self._printer = context.emitter(FINDING_SPEC)
        self._verdict = verdict
        self._rows: list[Row] = []
        self._counts: Counter[str] = Counter()
        self._files = 0

    def add(self, path: str, size: int, found: Sequence[LintFinding]) -> None:
        """Report the findings in the file at ``path``, which has ``size`` bytes."""
        self._add_rows(path, [{"path": path, **each.row()} for each in self._filter_findings(found, size)])

    def add_clean_copy(
        self, path: str, size: int, found: Sequence[LintFinding], left: Sequence[LintFinding], new: int
    ) -> None:
        """Report a file with a clean copy of ``new`` bytes, in which the findings ``left`` remain."""
        before, after = self._filter_findings(found, size), self._filter_findings(left, new)
        staying = {(each.check, each.page) for each in after}
        known = {(each.check, each.page) for each in before}
        rows = [
            {"path": path, **each.row(), "after": STAYS if (each.check, each.page) in staying else GONE}
            for each in [*before, *(each for each in after if (each.check, each.page) not in known)]
        ]
        self._add_rows(path, rows)

    def fail(self, path: str, error: Exception) -> None:
        """Report a file that could not be checked; with ``--json`` its row has the error."""
        failure = failures.describe(self._ctx, error)
        self._ctx.err(f"error: {failure.detail}", "error")
        if self._printer.format in ("json", "jsonl"):
            self._rows.append({"path": path, "error": failures.build_error_object(self._ctx, failure)})

    def note(self, text: str) -> None:
        """Print a note for people."""
        self._ctx.note(text)

    def finish(self) -> None:
        """Print the output for programs and a summary for people."""
        if not self._printer.is_for_people:
            self._printer.emit(self._rows)
            return
        counts = [format_plural(self._counts[level], level) for level in reversed(LEVELS) if self._counts[level]]
        files = format_plural(self._files, "file")
        self._ctx.note(f"{', '.join(counts) or 'nothing found'} in {files}")

    def exit_code(self) -> ExitCode:
        """Return 13 if a remaining finding reaches the level that fails the command, else the other code."""
        fail_on = self._verdict.fail_on
        failed = fail_on != NEVER and any(
            count and is_at_least(level, fail_on) for level, count in self._counts.items()
        )
        return ExitCode.CHECK_FAILED if failed else ExitCode.OK

    def _filter_findings(self, found: Sequence[LintFinding], size: int) -> list[LintFinding]:
        measured = check_size(size, self._verdict.plan)
        every = [*([] if measured is None else [measured]), *found]
        return [each for each in every if each.check in self._verdict.checks]

    def _add_rows(self, path: str, rows: Sequence[Row]) -> None:
        self._files += 1
        self._counts.update(row["level"] for row in rows if row.get("after") != GONE)
        self._rows += rows
        if self._printer.is_for_people:
            for line in _render_file(path, rows, self._ctx):
                self._ctx.print(line)
            self._ctx.flush()


def _render_file(path: str, rows: Sequence[Row], context: Context) -> Iterator[str]:
    """Yield the findings in one file, with the advice of each check after its last finding."""
    screen = context.out_screen
    yield screen.paint("bold", clean(path))
    if not rows:
        yield f"  {screen.paint('ok', screen.glyph('✓'))} nothing found"
    last = {row["check"]: at for at, row in enumerate(rows)}
    for at, row in enumerate(rows):
        yield from _render_finding(row, context, with_fix=last[row["check"]] == at)


def _render_finding(row: Row, context: Context, *, with_fix: bool) -> Iterator[str]:
    screen = context.out_screen
    after = row.get("after")
    label = f"{after or row['level']:<8}"
    role = "ok" if after == GONE else _ROLES[row["level"]]
    place = f"page {row['page']}: " if "page" in row else ""
    room = max(screen.width - len(label) - 3, 20)
    text = clean(f"{place}{row['message']} [{row['check']}]")
    first, *more = textwrap.wrap(text, room, break_on_hyphens=False)  # users copy the names of checks
    yield f"  {screen.paint(role, label)} {first}"
    indent = " " * (len(label) + 3)
    for line in more:
        yield indent + line
    if with_fix and after != GONE:
        for line in textwrap.wrap(f"{screen.glyph('→')} {row['fix']}", room):
            yield indent + screen.paint("dim", line)
