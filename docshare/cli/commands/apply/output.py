"""The output of ``docshare apply`` for programs: a row for each action."""

from docshare.cli.terminal.output import Column, Spec

CREATE, UPDATE, REPLACE, DELETE = "create", "update", "replace", "delete"

ACTION_SPEC = Spec(
    table=(
        Column("action", "ACTION"),
        Column("kind", "KIND"),
        Column("name", "NAME", role="bold", flexible=True),
        Column("file", "FILE", flexible=True),
        Column("url", "LINK", role="id", link="url"),
    ),
    plain=("action", "kind", "name", "file", "url"),
    fields=("uuid", "changes", "secretFile", "done", "error"),
    id="uuid",
)
