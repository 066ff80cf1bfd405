"""Options that take a duration such as ``20s``."""

from typing import Any

import typer

from docshare.cli.terminal.text import parse_duration


def duration_option(help: str) -> Any:
    """Return an option with the metavar TIME. It checks the value but leaves it as text for ``parse_duration``."""
    return typer.Option(metavar="TIME", callback=_check_duration, help=help)


def _check_duration(text: str | None) -> str | None:
    if text is not None:
        try:
            parse_duration(text)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None
    return text
