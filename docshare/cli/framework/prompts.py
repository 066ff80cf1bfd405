"""Prompts: shown only where someone can answer, and never answered by accident.

Moderate (move to the trash, revoke): y/N on a terminal, ``--yes`` elsewhere. Severe (deleted for good): type the name,
or ``--confirm NAME``; for several at once ``--yes --count N`` with the right number.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from docshare.cli.framework.exits import ExitCode, Stop
from docshare.client.errors import Refused

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context
    from docshare.client import Client


def confirm(context: "Context", question: str) -> None:
    """Ask a y/N question; raise Stop (2) if the answer is not yes or prompting is impossible."""
    if context.options.yes:
        return
    if not context.may_prompt:
        raise Stop(
            ExitCode.USAGE, f"confirmation required: {question}", hint="Confirm with --yes.", code="confirmation"
        )
    if _prompt(context, f"{context.sanitize(question)} [y/N] ").lower() not in ("y", "yes"):
        raise _declined_error()


def describe_file(client: "Client", file: str, word: str) -> str:
    """Return for example ``offer.pdf (slug:deck)``: the name of the file and the ``word`` that the user gave.

    Return the word alone if the server does not show the file.
    """
    try:
        name = client.files.show(file).get("originalName")
    except Refused:  # the following request is refused as well, or needs no such scope
        name = None
    return f"{name} ({word})" if name else word


def confirm_irreversible(
    context: "Context", warning: str, names: Sequence[str], *, typed: str | None = None, count: int | None = None
) -> None:
    """Ask for confirmation of something that cannot be undone.

    ``names``: what is deleted, as the user knows it; ``typed``: the value of ``--confirm``; ``count``: of ``--count``.
    Raise Stop (2) without confirmation.
    """
    if typed is not None:
        if list(names) == [typed]:
            return
        raise Stop(ExitCode.USAGE, f"--confirm {typed} does not match what would be deleted: {', '.join(names)}")
    if context.options.yes and (len(names) == 1 or count == len(names)):
        return
    if context.options.yes or not context.may_prompt:
        raise Stop(ExitCode.USAGE, f"{warning} requires confirmation", hint=_build_hint(names), code="confirmation")
    expected = names[0] if len(names) == 1 else str(len(names))
    context.err(warning, "warn")
    if _prompt(context, f"Type {context.sanitize(expected)} to confirm: ") != expected:
        raise _declined_error()


def _build_hint(names: Sequence[str]) -> str:
    import shlex

    if len(names) == 1:
        return f"Use --confirm {shlex.quote(names[0])}"
    return f"Use --yes --count {len(names)}"


def prompt_secret(context: "Context", question: str, *, instead: str) -> str:
    """Prompt for a secret without echo; raise Stop (2) with the hint ``instead`` if prompting is impossible."""
    if not context.may_prompt:
        raise Stop(ExitCode.USAGE, f"cannot prompt for the {question} here", hint=instead, code="prompt")
    return read_hidden(context, f"{question}: ").strip()


def read_hidden(context: "Context", text: str) -> str:
    """Prompt with ``text`` and return the answer without echo; raise Stop (2) at the end of input (Ctrl-D)."""
    from docshare.cli.terminal.hidden_input import read_hidden as read_without_echo

    try:
        return read_without_echo(text, context.stderr)
    except EOFError:
        context.err_raw("\n")
        raise Stop(ExitCode.USAGE, "no input; nothing was changed", code="declined") from None


def _prompt(context: "Context", text: str) -> str:
    context.err_raw(text)
    answer = context.stdin.readline()
    if not answer:
        context.err_raw("\n")
        raise _declined_error()
    return answer.strip()


def _declined_error() -> Stop:
    return Stop(ExitCode.USAGE, "not confirmed; nothing was changed", code="declined")
