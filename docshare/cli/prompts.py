"""Questions: asked only where somebody can answer, and never answered by accident.

Moderate (delete to the trash, revoke): y/N on a terminal, ``--yes`` elsewhere. Severe (gone for good): the name typed
out, or ``--confirm NAME``; for many at once ``--yes --count N`` with the right number.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from docshare.cli.exits import ExitCode, Stop

if TYPE_CHECKING:
    from docshare.cli.context import Context


def confirm(context: "Context", question: str) -> None:
    """Ask a y/N question; Stop (2) if the answer is not yes or nobody can answer."""
    if context.options.yes:
        return
    if not context.may_prompt:
        raise Stop(ExitCode.USAGE, f"{question} needs an answer", hint="Answer with --yes.", code="confirmation")
    if _ask(context, f"{context.safe(question)} [y/N] ").lower() not in ("y", "yes"):
        raise _declined()


def confirm_severe(
    context: "Context", warning: str, names: Sequence[str], *, typed: str | None = None, count: int | None = None
) -> None:
    """Get consent for what cannot be undone.

    ``names``: what is about to be lost, as the user knows it; ``typed``: the value of ``--confirm``; ``count``: of
    ``--count``. Stop (2) without consent.
    """
    if typed is not None:
        if list(names) == [typed]:
            return
        raise Stop(ExitCode.USAGE, f"--confirm {typed} does not name what would be lost: {', '.join(names)}")
    if context.options.yes and (len(names) == 1 or count == len(names)):
        return
    if context.options.yes or not context.may_prompt:
        raise Stop(ExitCode.USAGE, f"{warning} needs consent", hint=_how(names), code="confirmation")
    word = names[0] if len(names) == 1 else str(len(names))
    context.err(warning, "warn")
    if _ask(context, f"Type {context.safe(word)} to go on: ") != word:
        raise _declined()


def _how(names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"Give --confirm {names[0]}"
    return f"Give --yes --count {len(names)}"


def secret(context: "Context", question: str, *, instead: str) -> str:
    """Ask for a secret without showing it; Stop (2) naming ``instead`` where nobody can answer."""
    if not context.may_prompt:
        raise Stop(ExitCode.USAGE, f"{question} cannot be asked here", hint=instead, code="prompt")
    import getpass

    return getpass.getpass(f"{question}: ", stream=context.stderr).strip()


def _ask(context: "Context", text: str) -> str:
    context.err_raw(text)
    answer = context.stdin.readline()
    if not answer:
        context.err_raw("\n")
        raise _declined()
    return answer.strip()


def _declined() -> Stop:
    return Stop(ExitCode.USAGE, "not confirmed; nothing was changed", code="declined")
