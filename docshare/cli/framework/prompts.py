"""Questions: asked only where somebody can answer, and never answered by accident.

Moderate (delete to the trash, revoke): y/N on a terminal, ``--yes`` elsewhere. Severe (gone for good): the name typed
out, or ``--confirm NAME``; for many at once ``--yes --count N`` with the right number.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from docshare.cli.framework.exits import ExitCode, Stop

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context
    from docshare.client import Client


def confirm(context: "Context", question: str) -> None:
    """Ask a y/N question; Stop (2) if the answer is not yes or nobody can answer."""
    if context.options.yes:
        return
    if not context.may_prompt:
        raise Stop(ExitCode.USAGE, f"this needs an answer: {question}", hint="Answer with --yes.", code="confirmation")
    if _prompt(context, f"{context.safe(question)} [y/N] ").lower() not in ("y", "yes"):
        raise _declined_error()


def describe_file(client: "Client", file: str, word: str) -> str:
    """``offer.pdf (slug:deck)``: the name of the file ``file``, with the ``word`` that the user named it by; the word
    alone if the server does not show the file."""
    from docshare.client.errors import Refused

    try:
        name = client.files.show(file).get("originalName")
    except Refused:  # what is then asked of the server is refused as well, or needs no such scope
        name = None
    return f"{name} ({word})" if name else word


def confirm_irreversible(
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
        raise Stop(ExitCode.USAGE, f"{warning} needs consent", hint=_build_hint(names), code="confirmation")
    word = names[0] if len(names) == 1 else str(len(names))
    context.err(warning, "warn")
    if _prompt(context, f"Type {context.safe(word)} to go on: ") != word:
        raise _declined_error()


def _build_hint(names: Sequence[str]) -> str:
    import shlex

    if len(names) == 1:
        return f"Give --confirm {shlex.quote(names[0])}"
    return f"Give --yes --count {len(names)}"


def prompt_secret(context: "Context", question: str, *, instead: str) -> str:
    """Ask for a secret without showing it; Stop (2) naming ``instead`` where nobody can answer."""
    if not context.may_prompt:
        raise Stop(ExitCode.USAGE, f"{question} cannot be asked here", hint=instead, code="prompt")
    return read_hidden(context, f"{question}: ").strip()


def read_hidden(context: "Context", text: str) -> str:
    """What is typed after ``text``, without being shown; Stop (2) if the input ends instead (Ctrl-D)."""
    import getpass

    try:
        return getpass.getpass(text, stream=context.stderr)
    except EOFError:
        context.err_raw("\n")
        raise Stop(ExitCode.USAGE, "nothing was typed; nothing was changed", code="declined") from None


def _prompt(context: "Context", text: str) -> str:
    context.err_raw(text)
    answer = context.stdin.readline()
    if not answer:
        context.err_raw("\n")
        raise _declined_error()
    return answer.strip()


def _declined_error() -> Stop:
    return Stop(ExitCode.USAGE, "not confirmed; nothing was changed", code="declined")
