"""``docshare admin``: manage an instance, through its running server or, if none is running, in this process.

Each command is loaded when it runs.
"""

import typer

from docshare.cli.framework.admin_channel import Data
from docshare.cli.framework.app import App, Stub

_PEOPLE, _FILES, _INSTANCE, _OUTGOING = "Accounts", "Files", "Instance", "Outgoing messages"
_ACCOUNTS, _TRASH = "admin.accounts", "admin.trash"
_FREEZE, _MAIL = "admin.freeze", "admin.mail"
_STUBS = (
    Stub("account", _ACCOUNTS, _PEOPLE, "Manage accounts and their plans.", "account"),
    Stub("key", _ACCOUNTS, _PEOPLE, "Manage API keys.", "key"),
    Stub(
        "login-link",
        _ACCOUNTS,
        _PEOPLE,
        "Create a one-time sign-in link that is valid for 10 minutes.",
        "login-link",
    ),
    Stub("client", "admin.clients", _PEOPLE, "Manage apps that use OAuth."),
    Stub("invite", _MAIL, _FILES, "Invite a person to a file of any account.", "invite"),
    Stub("freeze", _FREEZE, _FILES, "Freeze the links of a file while it is being reviewed.", "freeze"),
    Stub("unfreeze", _FREEZE, _FILES, "Unfreeze the links of a file.", "unfreeze"),
    Stub("hotspot", "admin.hotspots", _FILES, "Manage hotspots that open a link or play a sound."),
    Stub("trash", _TRASH, _FILES, "List, restore, and purge deleted files.", "trash"),
    Stub(
        "backup",
        "admin.backup",
        _INSTANCE,
        "Back up the whole instance while it runs.",
    ),
    Stub(
        "restore",
        "admin.restore",
        _INSTANCE,
        "Verify a backup and replace the instance with it.",
    ),
    Stub("vault", "admin.vault", _INSTANCE, "Show, replace, and export the master key."),
    Stub("move", "admin.move", _INSTANCE, "Copy the instance to another database, or back into a folder."),
    Stub(
        "check",
        "admin.check",
        _INSTANCE,
        "Check the database, documents, keys, and permissions.",
    ),
    Stub(
        "sweep",
        _TRASH,
        _INSTANCE,
        "Purge burned, expired, and long-deleted files now.",
        "sweep",
    ),
    Stub("outbox", _MAIL, _OUTGOING, "Show the emails that the instance sends.", "outbox"),
    Stub("deliveries", "admin.deliveries", _OUTGOING, "Show and retry webhook deliveries of all accounts."),
)

app = App("Manage the bundled server: accounts, keys, storage.", stubs=_STUBS)


@app.callback()
def _group(context: typer.Context, data: Data = None) -> None:
    context.obj = data
