"""``docshare apply``: make an account match a YAML file."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docshare.cli.commands.apply.output import ACTION_SPEC, render_action
from docshare.cli.framework import errors, prompts
from docshare.cli.framework.app import App
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.exits import ExitCode, Stop, exit_code
from docshare.cli.local.storage import hold_lock
from docshare.client.errors import ClientError, Refused
from docshare.contract.problems import Problem

if TYPE_CHECKING:
    from docshare.cli.commands.apply.actions import Action
    from docshare.cli.commands.apply.state import ApplyState
    from docshare.cli.terminal.output import Emitter
    from docshare.client import Client

app = App()

# These codes are more specific than "partial", even if some changes were made.
_OVERRIDING_EXIT_CODES = (ExitCode.CREDENTIAL, ExitCode.RATE_LIMITED, ExitCode.UNREACHABLE, ExitCode.UNKNOWN_OUTCOME)


@app.command("apply", spec=ACTION_SPEC)
def apply(
    path: Annotated[Path, typer.Argument(metavar="F", help="The YAML file.")] = Path("share.yaml"),
    state: Annotated[
        Path | None, typer.Option(metavar="F", help="State file (default: share.state.json next to share.yaml).")
    ] = None,
    prune: Annotated[bool, typer.Option("--prune", help="Remove resources that are no longer in the file.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit with code 13 if changes are due.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Print the changes without making them.")] = False,
) -> ExitCode:
    """Apply a share.yaml: files, settings, links, webhooks.

    Applying the same file again changes nothing. A file is matched by the state file, its uuid, its slug, or its name
    if only one file has it. A changed document is replaced behind the same link (requires the Pro plan). A setting that
    the YAML file does not name keeps its value, and null clears it. Variants are matched by label, and webhooks by URL,
    format and file. A duration such as deleteAt: 30d counts from the first upload.

    Prompts before it replaces or removes anything; elsewhere than on a terminal --yes is required. --prune moves files
    to the trash, deletes variants and webhooks, and clears settings, but only those that the state file records from
    an earlier run. The first failure ends the run, with exit code 12 if something was changed before; run the same
    command again to continue.

    On a pipe, prints a line per action: action, kind, name, file, link. docshare help apply describes the YAML file.

    Examples:

      docshare apply --dry-run
      docshare apply site.yaml --prune --yes
      docshare apply --check || echo "share.yaml is not applied"
    """
    from docshare.cli.commands.apply.parse import read_desired_state
    from docshare.cli.commands.apply.plan import Reconciler
    from docshare.cli.commands.apply.state import ApplyState

    ctx = current_context()
    printer = ctx.emitter(ACTION_SPEC)
    desired_state = read_desired_state(ctx, path)
    kept = path.with_name(f"{path.stem}.state.json") if state is None else state
    with ExitStack() as held:
        if not (dry_run or check):  # a concurrent run waits and then sees what this one has done
            held.enter_context(hold_lock(kept.with_name(f".{kept.name}.lock")))
        known = ApplyState(kept).load()
        client = held.enter_context(ctx.client())
        account = _fetch_account(client)
        known.bind(client.base_url, account.get("uuid"))
        from docshare.cli.framework.sources import parse_plan

        planner = Reconciler(ctx, client, desired_state, known, prune=prune, plan=parse_plan(account))
        actions = planner.list_actions()
        if dry_run or check:
            _print_actions(ctx, printer, actions)
            return ExitCode.CHECK_FAILED if check and actions else ExitCode.OK
        _confirm_risky(ctx, actions)
        planner.record_existing()
        known.save()
        return _run_actions(ctx, client, printer, actions, known)


def _fetch_account(client: "Client") -> Mapping[str, Any]:
    """Return the account; empty if the credential lacks the scope."""
    try:
        return client.account.show()
    except Refused as refusal:
        if refusal.code != "insufficient_scope":
            raise
        return {}


def _print_actions(ctx: Context, printer: "Emitter", actions: Sequence["Action"]) -> None:
    rows = [action.row(done=False) for action in actions]
    if printer.is_for_people:
        for row in rows:
            printer.emit_row(row)
    else:
        printer.emit(rows)
    ctx.note(f"{_format_count(len(rows))} due" if rows else "no changes")


def _confirm_risky(ctx: Context, actions: Sequence["Action"]) -> None:
    """Raise Stop (2) unless replacing and removing is confirmed."""
    risky = [action for action in actions if action.is_risky]
    if not risky:
        return
    if ctx.may_prompt and not ctx.options.yes:
        for action in actions:
            for line in render_action(action.row(done=False), ctx, ctx.err_screen):
                ctx.err_raw(f"{line}\n")
    what = f"{risky[0].verb.capitalize()} {risky[0].kind} {risky[0].name}"
    more = f", and {_format_count(len(risky) - 1, 'similar ')}" if len(risky) > 1 else ""
    prompts.confirm(ctx, f"{what}{more}?" if ctx.may_prompt else f"{what}{more}")


def _run_actions(
    ctx: Context, client: "Client", printer: "Emitter", actions: Sequence["Action"], state: "ApplyState"
) -> ExitCode:
    """Carry out all actions and print each as it ends; stop at the first failure."""
    whole = printer.format == "json"
    rows: list[Mapping[str, Any]] = []
    try:
        for action in actions:
            try:
                client.pace(quiet=True)
                row = {**action.row(done=True), **action.run()}
            except (Problem, ClientError, Stop) as error:
                if not rows or exit_code(error) in _OVERRIDING_EXIT_CODES:
                    ctx.note(f"failed: {action.verb} {action.kind} {action.name}")
                    raise
                rows.append(_report_failure(ctx, action, error))
                ctx.warn(
                    f"not done: {_format_count(len(actions) - len(rows) + 1)}; run the same command again to continue"
                )
                return ExitCode.PARTIAL
            finally:
                state.save()
            rows.append(row)
            if not whole:
                printer.emit_row(row)
    finally:
        if whole and (rows or not actions):
            printer.emit(rows)
    ctx.note(f"{_format_count(len(rows))} made" if rows else "no changes")
    return ExitCode.OK


def _report_failure(ctx: Context, action: "Action", error: Exception) -> Mapping[str, Any]:
    failure = errors.describe(ctx, error)
    step = f"{action.verb} {action.kind} {action.name}"
    ctx.err(f"error: {step}: {failure.detail}", "error")
    if failure.hint:
        ctx.err(f"hint: {failure.hint}", "dim")
    return {**action.row(done=False), "error": errors.build_error_object(ctx, failure)}


def _format_count(count: int, kind: str = "") -> str:
    return f"{count} {kind}change{'' if count == 1 else 's'}"
