"""``docshare lint``: find metadata and hidden content in a PDF before it is shared; optionally write a clean copy."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, NamedTuple

import typer

from docshare.cli.commands.lint.report import (
    FINDING_SPEC,
    NEVER,
    LintCriteria,
    LintReport,
    check_fail_on,
    check_plan,
    choose_checks,
)
from docshare.cli.framework.app import App
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.exits import ExitCode, Stop, exit_code, problem_exit_code
from docshare.cli.framework.inputs import STDIN
from docshare.cli.framework.sources import Item, build_items, check_item, fetch_plan
from docshare.cli.local.storage import write_error
from docshare.contract.amounts import format_plural
from docshare.contract.lint import CHECKS, LintFinding, is_at_least
from docshare.contract.plans import Plan
from docshare.contract.problems import Problem

if TYPE_CHECKING:
    from docshare.server.pdf.linter import PdfLinter

app = App()

_WARNING = "warning"
_CLEAN_COPY = "For a clean copy: docshare lint --strip FILE -o clean.pdf."
_ROLES = {"error": "error", "warning": "warn"}


@app.command("lint", spec=FINDING_SPEC)
def lint(
    paths: Annotated[list[str], typer.Argument(metavar="PATH...", help="PDFs to check.")],
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="CHECK", help="Run only this check. Repeatable.")
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option("--ignore", metavar="CHECK", help="Skip this check. Repeatable.")
    ] = None,
    fail_on: Annotated[
        str,
        typer.Option(
            "--fail-on",
            metavar="error|warning|never",
            callback=check_fail_on,
            help="Lowest level that exits with code 13.",
        ),
    ] = _WARNING,
    plan: Annotated[
        str | None,
        typer.Option("--plan", metavar="free|basic|pro", callback=check_plan, help="Check the size against this plan."),
    ] = None,
    account: Annotated[
        bool, typer.Option("--account", help="Check the size against the account's plan (online).")
    ] = False,
    strip: Annotated[bool, typer.Option("--strip", help="Write a clean copy to --output.")] = False,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="PATH", help="File to write the clean copy to.")
    ] = None,
    title: Annotated[bool, typer.Option("--title/--no-title", help="With --strip: keep the title.")] = True,
    force: Annotated[bool, typer.Option("--force", help="With --strip: overwrite an existing file.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", "-n", help="With --strip: print what it would remove; write nothing.")
    ] = False,
) -> ExitCode:
    """Check PDFs for metadata and hidden content before sharing.

    Lint reports text under black boxes, invisible text, hidden layers, earlier revisions, attachments, scripts, filled
    forms, comments, and names, directories, and places in the metadata. Notes concern title, language, tags, producer,
    and size. Each finding is one line: path, level, check, page, message, and fix. The exit code is 13 if there is a
    warning or an error, and 9 if a file cannot be read. Nothing is sent anywhere, and no account is needed.

    With --strip, lint writes a clean copy and checks it as well; each finding then reads "gone" or "stays". The copy
    keeps everything readers see, as well as links, outline, and tags; form fields, entered text, stamps, and drawings
    become part of the page. Notes and text markup are removed. Text under boxes cannot be removed and stays.

    To decide whether text is visible, lint renders the page with and without it. Recognized text on scanned pages is
    invisible by design and reported only under a box.

    Examples:

      docshare lint offer.pdf
      docshare lint offer.pdf --strip -o clean.pdf
      docshare lint reports/*.pdf --ignore author --fail-on error
      docshare lint offer.pdf --json | jq -r '.[].check'
    """
    ctx = current_context()
    wanted = choose_checks(only or [], ignore or [])
    if plan is not None and account:
        raise Stop(ExitCode.USAGE, "--plan and --account cannot be used together")
    if (output is not None or force or dry_run or not title) and not strip:
        raise Stop(ExitCode.USAGE, "-o, --force, --no-title, and -n require --strip")
    if STDIN in paths:
        raise Stop(ExitCode.USAGE, "lint cannot read from stdin", hint=f"To check a file of that name, use ./{STDIN}")
    cleaning = (
        _CleanCopy(_check_output(paths, output, force=force), keep_title=title, dry_run=dry_run) if strip else None
    )
    items = [_require_pdf(item) for item in build_items(paths, None, command="lint")]
    if len(items) == 1 and items[0].refusal is not None:
        raise items[0].refusal
    by = _fetch_plan(ctx) if account else None if plan is None else Plan.from_tier(plan)
    report = LintReport(ctx, LintCriteria(wanted, by, fail_on))
    failures: list[Exception] = []
    with _make_linter() as linter:
        for item in items:
            try:
                _lint_file(report, linter, item, cleaning)
            except (Problem, Stop) as error:
                if len(items) == 1:
                    raise
                failures.append(error)
                report.fail(item.path, error)
    report.finish()
    if failures:
        codes = {exit_code(error) for error in failures}
        return codes.pop() if len(codes) == 1 and len(failures) == len(items) else ExitCode.PARTIAL
    return report.exit_code()


def require_clean(ctx: Context, items: Sequence[Item], fail_on: str | None, ignore: Sequence[str]) -> None:
    """Check the PDFs among ``items`` before they are uploaded, and print warnings and errors on stderr.

    Raise Stop (13) for a finding at the level ``fail_on`` (default: warning) or worse, and Stop (9) for an unreadable
    file. Checks in ``ignore`` are skipped.
    """
    wanted, fail_on = choose_checks((), ignore), check_fail_on(fail_on or _WARNING)
    count, strippable = 0, False
    with _make_linter() as linter:
        for item in items:
            if item.refusal is not None:
                continue
            if item.kind != "pdf":
                ctx.warn(f"{item.name} is not linted: the server converts it to PDF")
                continue
            with _spool_to_disk(item) as path:
                found = [each for each in _run_linter(linter, path, item.path) if each.check in wanted]
            grave = [each for each in found if fail_on != NEVER and is_at_least(each.level, fail_on)]
            for each in found:
                if not is_at_least(each.level, _WARNING):
                    continue
                place = "" if each.page is None else f", page {each.page}"
                ctx.err(f"{each.level}: {item.name}{place}: {each.message} ({each.check})", _ROLES[each.level])
            count += len(grave)
            strippable = strippable or any(CHECKS[each.check].is_removed_by_clean for each in grave)
    if count:
        things = format_plural(count, "problem")
        hint = "To upload anyway, leave out --lint." + (f" {_CLEAN_COPY}" if strippable else "")
        raise Stop(ExitCode.CHECK_FAILED, f"lint found {things}; nothing was uploaded", hint=hint, code="lint")


class _CleanCopy(NamedTuple):
    """The path of the clean copy, whether it keeps the title, and whether this is a dry run."""

    path: Path
    keep_title: bool
    dry_run: bool


def _check_output(paths: Sequence[str], output: str | None, *, force: bool) -> Path:
    if len(paths) != 1:
        raise Stop(ExitCode.USAGE, "--strip requires exactly one path")
    if output is None:
        raise Stop(ExitCode.USAGE, "--strip requires --output")
    if output == STDIN:
        raise Stop(ExitCode.USAGE, "the clean copy cannot go to stdout, which has the findings",
                   hint="Name a file with --output.")  # fmt: skip
    if os.path.exists(output) and not os.path.isfile(output):
        kind = "a directory" if os.path.isdir(output) else "not a regular file"
        raise Stop(ExitCode.USAGE, f"{output} is {kind}", hint="Name a file with --output.")
    if os.path.lexists(output) and not force:
        raise Stop(ExitCode.USAGE, f"{output} already exists", hint="Use --force to overwrite it.")
    return Path(output)


def _require_pdf(item: Item) -> Item:
    """Return ``item`` with its first bytes checked and a refusal set if it is not a PDF."""
    item = check_item(item, command="lint")
    if item.refusal is None and item.kind != "pdf":
        hint = "Export it as PDF and lint that file: the result depends on the exporting program."
        why = f"{item.path} is a Word or PowerPoint file; lint reads only PDFs"
        return item._replace(refusal=Stop(ExitCode.USAGE, why, hint=hint, code="local_file"))
    return item


def _fetch_plan(ctx: Context) -> Plan | None:
    with ctx.client() as client:
        return fetch_plan(client)


def _lint_file(report: LintReport, linter: "PdfLinter", item: Item, cleaning: _CleanCopy | None) -> None:
    if item.refusal is not None:
        raise item.refusal
    found = _run_linter(linter, Path(item.path), item.path)
    if cleaning is None:
        report.add(item.path, item.size, found)
        return
    with _open_copy(cleaning) as sink:
        try:
            linter.clean(Path(item.path), sink, keep_title=cleaning.keep_title)
        except Problem as problem:
            raise _translate_problem(problem, item.path) from problem
        sink.flush()
        left = _run_linter(linter, Path(sink.name), item.path)
        size = os.fstat(sink.fileno()).st_size
    report.add_clean_copy(item.path, item.size, found, left, size)
    report.note("nothing was written" if cleaning.dry_run else f"saved {cleaning.path}")


@contextmanager
def _open_copy(cleaning: _CleanCopy) -> Iterator[IO[bytes]]:
    """Open a temporary file for the clean copy and rename it on success."""
    place = Path(os.path.realpath(cleaning.path))
    part = place.with_name(f".{place.name}.{os.urandom(4).hex()}.part")
    if cleaning.dry_run:
        with tempfile.NamedTemporaryFile(suffix=".pdf") as trial:
            yield trial
        return
    try:
        with open(part, "x+b") as sink:
            yield sink
            os.fsync(sink.fileno())
        os.replace(part, place)
    except OSError as error:
        raise write_error(cleaning.path, error) from error
    finally:
        with suppress(OSError):
            part.unlink()


@contextmanager
def _spool_to_disk(item: Item) -> Iterator[Path]:
    """Yield the path of the data to be sent; data from stdin goes to a temporary file."""
    if item.spool is None:
        yield Path(item.path)
        return
    with tempfile.NamedTemporaryFile(suffix=".pdf") as file:
        with item.open() as source:
            shutil.copyfileobj(source, file)
        file.flush()
        yield Path(file.name)


def _make_linter() -> "PdfLinter":
    from docshare.server.pdf.linter import PdfLinter

    return PdfLinter(required=current_context().env.get("DOCSHARE_CONFINEMENT") == "required")


def _run_linter(linter: "PdfLinter", path: Path, label: str) -> list[LintFinding]:
    try:
        return linter.lint(path)
    except Problem as problem:
        raise _translate_problem(problem, label) from problem


def _translate_problem(problem: Problem, label: str) -> Stop:
    """Convert a worker's problem into a command-line error."""
    detail = f"{label}: {problem.detail[0].lower()}{problem.detail[1:].rstrip('.')}"
    return Stop(problem_exit_code(problem), detail, hint=problem.hint or "", code=problem.code)
