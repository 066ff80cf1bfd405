"""Options that take a time such as ``20s``."""

from typing import Any

import typer

from docshare.cli.terminal.text import seconds


def duration_option(help: str) -> Any:
    """An option with the metavar TIME; what is no time is wrong usage. The value stays text, for ``text.seconds``."""
    return typer.Option(metavar="TIME", callback=_checked, help=help)


def _checked(text: str | None) -> str | None:
    if text is not None:
        try:
            seconds(text)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None
    return text
