"""``docshare admin``: operate an instance, through its running server or, where none runs, in this process.

Each command is loaded when it is used.
"""

import typer

from docshare.cli.framework.admin_channel import Data
from docshare.cli.framework.app import App, Stub

_PEOPLE, _FILES, _INSTANCE, _OUTGOING = "Accounts", "Files", "The instance", "What it sent"
_ACCOUNTS, _TRASH = "admin.accounts", "admin.trash"
_FREEZE, _MAIL = "admin.freeze", "admin.mail"
_STUBS = (
    Stub("account", _ACCOUNTS, _PEOPLE, "Accounts and their plans.", "account"),
    Stub("key", _ACCOUNTS, _PEOPLE, "API keys.", "key"),
    Stub(
        "login-link",
        _ACCOUNTS,
        _PEOPLE,
        "Make a one-time sign-in link for the owner's pages, valid for 10 minutes.",
        "login-link",
    ),
    Stub("client", "admin.clients", _PEOPLE, "Apps that may ask accounts for access by OAuth."),
    Stub("invite", _MAIL, _FILES, "Invite somebody to a file by a personal link, whosever file it is.", "invite"),
    Stub("freeze", _FREEZE, _FILES, "Freeze the links of a file while it is being reviewed.", "freeze"),
    Stub("unfreeze", _FREEZE, _FILES, "Open the links of a frozen file again.", "unfreeze"),
    Stub("hotspot", "admin.hotspots", _FILES, "Places on a page that open an address or play a sound."),
    Stub("trash", _TRASH, _FILES, "Deleted files that can still be restored.", "trash"),
    Stub(
        "backup",
        "admin.backup",
        _INSTANCE,
        "Back up the whole instance while it runs: database, documents, keys and settings.",
    ),
    Stub(
        "restore",
        "admin.restore",
        _INSTANCE,
        "Put a backup in place of the instance in the data directory, once all of it has been verified.",
    ),
    Stub(
        "check",
        "admin.check",
        _INSTANCE,
        "Check that the instance is whole: database, documents, keys, permissions. Exit code 13 if anything is wrong.",
    ),
    Stub(
        "sweep",
        _TRASH,
        _INSTANCE,
        "Do now what a running server does every few seconds: destroy what burned, expired or lay in the trash for "
        "long.",
        "sweep",
    ),
    Stub("outbox", _MAIL, _OUTGOING, "The mails that the instance wrote.", "outbox"),
    Stub("deliveries", "admin.deliveries", _OUTGOING, "What the instance sends to webhooks."),
)

app = App("Look after the bundled server: accounts, keys, storage.", stubs=_STUBS)


@app.callback()
def _group(context: typer.Context, data: Data = None) -> None:
    context.obj = data
