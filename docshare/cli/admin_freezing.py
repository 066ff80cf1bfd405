"""``docshare admin freeze`` and ``unfreeze``: links on hold while what they show is being reviewed."""

from typing import Annotated

import typer

from docshare.cli.admin_channel import Data, asked
from docshare.cli.context import current
from docshare.cli.output import Column, Spec

FROZEN = Spec(
    table=(
        Column("originalName", "NAME", role="bold", flexible=True),
        Column("shortId", "ID", role="id"),
        Column("frozenAt", "FROZEN", kind="when"),
    ),
    plain=("uuid", "shortId", "originalName", "frozenAt"),
    id="uuid",
)

File = Annotated[
    str, typer.Argument(metavar="FILE", help="UUID, short id or link name, also of a link made for one recipient.")
]


def freeze(context: typer.Context, file: File, data: Data = None) -> None:
    """Freeze the links of a file while it is being reviewed.

    Readers get a page that says so and nothing of the document; its owner keeps reading it. The design tool cannot
    publish to it any more.

    Examples:

      docshare admin freeze aB3dE5fG7hJ9
    """
    current().emit(asked(context, data, "freeze", file=file), FROZEN)


def unfreeze(context: typer.Context, file: File, data: Data = None) -> None:
    """Open the links of a frozen file again.

    Examples:

      docshare admin unfreeze aB3dE5fG7hJ9
    """
    current().emit(asked(context, data, "unfreeze", file=file), FROZEN)
