"""Run ``docshare apply``: plan the changes, confirm them, and make them one by one."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docshare.cli.commands.apply.actions import Action
from docshare.cli.commands.apply.diff import render_action, render_row
from docshare.cli.commands.apply.output import ACTION_SPEC
from docshare.cli.commands.apply.parse import read_desired_state
from docshare.cli.commands.apply.plan import Reconciler
from docshare.cli.commands.apply.state import ApplyState
from docshare.cli.framework import failures, prompts
from docshare.cli.framework.context import Context
from docshare.cli.framework.exits import ExitCode, Stop, exit_code
from docshare.cli.framework.sources import parse_plan
from docshare.cli.local.storage import hold_lock
from docshare.cli.terminal.output import Emitter
from docshare.client.errors import ClientError, Refused
from docshare.contract.amounts import format_plural
from docshare.contract.problems import Problem

if TYPE_CHECKING:
    from docshare.client import Client

# These codes are more specific than "partial", even if some changes were made.
_OVERRIDING_EXIT_CODES = (ExitCode.CREDENTIAL, ExitCode.RATE_LIMITED, ExitCode.UNREACHABLE, ExitCode.UNKNOWN_OUTCOME)


@dataclass(frozen=True)
class ApplyOptions:
    """The options of the command; ``state``: the state file, None for the one next to the YAML file."""

    state: Path | None
    prune: bool
    check: bool
    dry_run: bool


def run_apply(ctx: Context, path: Path, given: ApplyOptions) -> ExitCode:
    """Apply the YAML file ``path`` and return the exit code."""
    printer = ctx.emitter(ACTION_SPEC._replace(human=render_row))
    desired_state = read_desired_state(ctx, path)
    kept = path.with_name(f"{path.stem}.state.json") if given.state is None else given.state
    with ExitStack() as held:
        if not (given.dry_run or given.check):  # a concurrent run waits and then sees what this one has done
            held.enter_context(hold_lock(kept.with_name(f".{kept.name}.lock")))
        known = ApplyState(kept).load()
        client = held.enter_context(ctx.client())
        account = _fetch_account(client)
        known.bind(client.base_url, account.get("uuid"))
        planner = Reconciler(ctx, client, desired_state, known, prune=given.prune, plan=parse_plan(account))
        actions = planner.list_actions()
        if given.dry_run or given.check:
            _print_actions(ctx, printer, actions)
            return ExitCode.CHECK_FAILED if given.check and actions else ExitCode.OK
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


def _print_actions(ctx: Context, printer: Emitter, actions: Sequence[Action]) -> None:
    rows = [action.row(done=False) for action in actions]
    if printer.is_for_people:
        for row in rows:
            printer.emit_row(row)
    else:
        printer.emit(rows)
    ctx.note(f"{format_plural(len(rows), 'change')} due" if rows else "no changes")


def _confirm_risky(ctx: Context, actions: Sequence[Action]) -> None:
    """Raise Stop (2) unless replacing and removing is confirmed."""
    risky = [action for action in actions if action.is_risky]
    if not risky:
        return
    if ctx.may_prompt and not ctx.options.yes:
        for action in actions:
            for line in render_action(action.row(done=False), ctx, ctx.err_screen):
                ctx.err_raw(f"{line}\n")
    what = f"{risky[0].verb.capitalize()} {risky[0].kind} {risky[0].name}"
    more = f", and {format_plural(len(risky) - 1, 'similar change')}" if len(risky) > 1 else ""
    prompts.confirm(ctx, f"{what}{more}?" if ctx.may_prompt else f"{what}{more}")


def _run_actions(
    ctx: Context, client: "Client", printer: Emitter, actions: Sequence[Action], state: ApplyState
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
                    f"not done: {format_plural(len(actions) - len(rows) + 1, 'change')}; "
                    "run the same command again to continue"
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
    ctx.note(f"{format_plural(len(rows), 'change')} made" if rows else "no changes")
    return ExitCode.OK


def _report_failure(ctx: Context, action: Action, error: Exception) -> Mapping[str, Any]:
    failure = failures.describe(ctx, error)
    step = f"{action.verb} {action.kind} {action.name}"
    ctx.err(f"error: {step}: {failure.detail}", "error")
    if failure.hint:
        ctx.err(f"hint: {failure.hint}", "dim")
    return {**action.row(done=False), "error": failures.build_error_object(ctx, failure)}
