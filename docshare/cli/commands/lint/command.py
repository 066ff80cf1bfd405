"""``docshare lint``: what a PDF tells besides what its pages show, before it is shared; and a copy without it."""

import os
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
from docshare.contract.lint import CHECKS, Finding, at_least
from docshare.contract.plans import Plan
from docshare.contract.problems import Problem

if TYPE_CHECKING:
    from docshare.server.pdf.linter import Linter

app = App()

_WARNING = "warning"
_CLEAN_COPY = "A clean copy: docshare lint --strip FILE -o clean.pdf."
_ROLES = {"error": "error", "warning": "warn"}


@app.command("lint", spec=FINDING_SPEC)
def lint(
    paths: Annotated[list[str], typer.Argument(metavar="PATH...", help="PDFs to look into.")],
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="CHECK", help="Look for this alone; may be repeated.")
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option("--ignore", metavar="CHECK", help="Do not look for this; may be repeated.")
    ] = None,
    fail_on: Annotated[
        str,
        typer.Option(
            "--fail-on", metavar="error|warning|never", callback=check_fail_on, help="End with 13 from this level on."
        ),
    ] = _WARNING,
    plan: Annotated[
        str | None,
        typer.Option("--plan", metavar="free|basic|pro", callback=check_plan, help="Measure the size by this plan."),
    ] = None,
    account: Annotated[
        bool, typer.Option("--account", help="Measure the size by the plan of the account, which asks the server.")
    ] = False,
    strip: Annotated[bool, typer.Option("--strip", help="Write a clean copy to --output.")] = False,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="PATH", help="Where the clean copy goes.")
    ] = None,
    title: Annotated[bool, typer.Option("--title/--no-title", help="With --strip: keep the title.")] = True,
    force: Annotated[bool, typer.Option("--force", help="With --strip: overwrite an existing file.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", "-n", help="With --strip: say what would go and stay; write nothing.")
    ] = False,
) -> ExitCode:
    """Look into PDFs for what should not be shared.

    Found are text under black boxes, text nobody can see, hidden layers, earlier states, attachments, scripts, filled
    forms, comments, and names, folders and places in the metadata. Notes are about title, language, tags, programs and
    the size. Each finding has a line: path, level, check, page, message and what to do about it. The exit code is 13 if
    there is a warning or an error, 9 if a file cannot be read. Nothing is sent anywhere, and no account is needed.

    With --strip a copy is written and looked into as well; each finding then says whether it is "gone" or "stays".
    What readers see stays in it, with links, outline and tags: fields of forms and what was typed, stamped or drawn
    onto a page become part of it. Notes and marks on text go. Text under boxes cannot be taken out here and stays.

    Whether a text can be seen is judged by drawing the page with and without it. Recognised text on scanned pages is
    meant to be invisible and no finding, unless a box lies on it.

    Examples:

      docshare lint offer.pdf
      docshare lint offer.pdf --strip -o clean.pdf
      docshare lint reports/*.pdf --ignore author --fail-on error
      docshare lint offer.pdf --json | jq -r '.[].check'
    """
    ctx = current_context()
    wanted = choose_checks(only or [], ignore or [])
    if plan is not None and account:
        raise Stop(ExitCode.USAGE, "--plan and --account exclude each other")
    if (output is not None or force or dry_run or not title) and not strip:
        raise Stop(ExitCode.USAGE, "-o, --force, --no-title and -n are about a clean copy, which needs --strip")
    if STDIN in paths:
        raise Stop(ExitCode.USAGE, "lint reads files, not stdin", hint=f"A file of that name is ./{STDIN}")
    cleaning = (
        _CleanCopy(_check_output(paths, output, force=force), keep_title=title, dry_run=dry_run) if strip else None
    )
    items = [_require_pdf(item) for item in build_items(paths, None, command="lint")]
    if len(items) == 1 and items[0].refusal is not None:
        raise items[0].refusal
    by = _fetch_plan(ctx) if account else None if plan is None else Plan.of(plan)
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
    return report.ending()


def require_clean(ctx: Context, items: Sequence[Item], fail_on: str | None, ignore: Sequence[str]) -> None:
    """Look into the PDFs among ``items`` before they are sent, but for the checks to ``ignore``, and print warnings and
    errors on stderr. Stop (13) if one is of the level ``fail_on`` (default: warning) or worse; Stop (9) for a file
    that cannot be read."""
    wanted, fail_on = choose_checks((), ignore), check_fail_on(fail_on or _WARNING)
    count, strippable = 0, False
    with _make_linter() as linter:
        for item in items:
            if item.refusal is not None:
                continue
            if item.kind != "pdf":
                ctx.warn(f"{item.name} is not linted: it becomes a PDF on the server only")
                continue
            with _spool_to_disk(item) as path:
                found = [each for each in _run_linter(linter, path, item.path) if each.check in wanted]
            grave = [each for each in found if fail_on != NEVER and at_least(each.level, fail_on)]
            for each in found:
                if not at_least(each.level, _WARNING):
                    continue
                place = "" if each.page is None else f", page {each.page}"
                ctx.err(f"{each.level}: {item.name}{place}: {each.message} ({each.check})", _ROLES[each.level])
            count += len(grave)
            strippable = strippable or any(CHECKS[each.check].cleaned for each in grave)
    if count:
        things = "one thing" if count == 1 else f"{count} things"
        hint = "Without --lint it is sent as it is." + (f" {_CLEAN_COPY}" if strippable else "")
        raise Stop(ExitCode.CHECK_FAILED, f"lint has found {things}; nothing was sent", hint=hint, code="lint")


class _CleanCopy(NamedTuple):
    """Where the clean copy goes, whether it keeps the title, and whether it is only tried."""

    place: Path
    keep_title: bool
    dry_run: bool


def _check_output(paths: Sequence[str], output: str | None, *, force: bool) -> Path:
    if len(paths) != 1:
        raise Stop(ExitCode.USAGE, "--strip needs exactly one path")
    if output is None:
        raise Stop(ExitCode.USAGE, "--strip needs --output: where shall the clean copy go?")
    if output == STDIN:
        raise Stop(ExitCode.USAGE, "the findings go to stdout, so the clean copy needs a file",
                   hint="Name the file that the clean copy shall be.")  # fmt: skip
    if os.path.exists(output) and not os.path.isfile(output):
        kind = "a folder" if os.path.isdir(output) else "no ordinary file"
        raise Stop(ExitCode.USAGE, f"{output} is {kind}", hint="Name the file that the clean copy shall be.")
    if os.path.lexists(output) and not force:
        raise Stop(ExitCode.USAGE, f"{output} exists", hint="Give --force to overwrite it.")
    return Path(output)


def _require_pdf(item: Item) -> Item:
    """``item`` after a look at its first bytes, with the reason if it is no PDF."""
    item = check_item(item, command="lint")
    if item.refusal is None and item.kind != "pdf":
        hint = "Export it as PDF and lint that: what is in the PDF depends on the program."
        why = f"{item.path} is a Word or PowerPoint file, and lint reads PDFs"
        return item._replace(refusal=Stop(ExitCode.USAGE, why, hint=hint, code="local_file"))
    return item


def _fetch_plan(ctx: Context) -> Plan | None:
    with ctx.client() as client:
        return fetch_plan(client)


def _lint_file(report: LintReport, linter: "Linter", item: Item, cleaning: _CleanCopy | None) -> None:
    if item.refusal is not None:
        raise item.refusal
    found = _run_linter(linter, Path(item.path), item.path)
    if cleaning is None:
        report.take(item.path, item.size, found)
        return
    with _open_copy(cleaning) as sink:
        try:
            linter.clean(Path(item.path), sink, keep_title=cleaning.keep_title)
        except Problem as problem:
            raise _translate_problem(problem, item.path) from problem
        sink.flush()
        left = _run_linter(linter, Path(sink.name), item.path)
        size = os.fstat(sink.fileno()).st_size
    report.take_clean(item.path, item.size, found, left, size)
    report.say("nothing was written" if cleaning.dry_run else f"saved {cleaning.place}")


@contextmanager
def _open_copy(cleaning: _CleanCopy) -> Iterator[IO[bytes]]:
    """The file for the clean copy, which gets its name only once all went well."""
    place = Path(os.path.realpath(cleaning.place))
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
        raise write_error(cleaning.place, error) from error
    finally:
        with suppress(OSError):
            part.unlink()


@contextmanager
def _spool_to_disk(item: Item) -> Iterator[Path]:
    """The path of what is to be sent; what came from stdin has none and gets one for as long as it takes."""
    if item.spool is None:
        yield Path(item.path)
        return
    import shutil

    with tempfile.NamedTemporaryFile(suffix=".pdf") as file:
        with item.open() as source:
            shutil.copyfileobj(source, file)
        file.flush()
        yield Path(file.name)


def _make_linter() -> "Linter":
    from docshare.server.pdf.linter import Linter

    return Linter(required=current_context().env.get("DOCSHARE_CONFINEMENT") == "required")


def _run_linter(linter: "Linter", path: Path, label: str) -> list[Finding]:
    try:
        return linter.findings(path)
    except Problem as problem:
        raise _translate_problem(problem, label) from problem


def _translate_problem(problem: Problem, label: str) -> Stop:
    """The refusal of a worker in the words of the command line."""
    detail = f"{label}: {problem.detail[0].lower()}{problem.detail[1:].rstrip('.')}"
    return Stop(problem_exit_code(problem), detail, hint=problem.hint or "", code=problem.code)
