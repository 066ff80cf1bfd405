"""``docshare admin account``, ``key`` and ``login-link``: manage access to the instance."""

from typing import Annotated

import typer

from docshare.cli.framework.admin_channel import Data, Email, is_served, resolve_data_dir, run_admin_command, run_change
from docshare.cli.framework.app import App
from docshare.cli.framework.context import current_context
from docshare.cli.framework.dry_run import DryRun
from docshare.cli.framework.exits import ExitCode
from docshare.cli.framework.prompts import confirm, confirm_irreversible
from docshare.cli.terminal.output import Column, Spec

app = App()
account = App("Manage accounts and their plans.")
key = App("Manage API keys.")
app.add_typer(account, name="account")
app.add_typer(key, name="key")

_ACCOUNT = Spec(
    table=(
        Column("email", "EMAIL"),
        Column("name", "NAME"),
        Column("tier", "PLAN"),
        Column("disabledAt", "DISABLED", kind="when"),
        Column("uuid", "UUID", role="id"),
    ),
    plain=("email", "tier", "uuid", "name"),
    fields=("email", "name", "tier", "uuid", "disabledAt"),
    id="uuid",
    empty="no accounts",
)
_USAGE = Spec(
    table=(
        Column("email", "EMAIL"),
        Column("tier", "PLAN"),
        Column("files", "FILES"),
        Column("bytes", "SIZE", kind="size"),
        Column("sessions", "SESSIONS"),
        Column("disabledAt", "DISABLED", kind="when"),
    ),
    plain=("email", "files", "bytes", "sessions"),
    fields=("email", "name", "tier", "uuid", "files", "bytes", "sessions", "disabledAt"),
    id="email",
    empty="no accounts",
)
_NEW_ACCOUNT = Spec(
    table=(*_ACCOUNT.table, Column("apiKey", "API KEY")),
    plain=("apiKey",),
    fields=_ACCOUNT.plain,
    id="uuid",
    once=("apiKey",),
)
_KEY = Spec(
    table=(
        Column("name", "NAME"),
        Column("tail", "ENDS WITH"),
        Column("createdAt", "CREATED", kind="when"),
        Column("revokedAt", "REVOKED", kind="when"),
        Column("uuid", "UUID", role="id"),
    ),
    plain=("uuid", "name", "tail", "createdAt", "revokedAt"),
    id="uuid",
    empty="no keys",
)
_NEW_KEY = Spec(
    table=(Column("uuid", "UUID", role="id"), Column("key", "API KEY")),
    plain=("key",),
    fields=("uuid",),
    id="uuid",
    once=("key",),
)
_LINK = Spec(table=(Column("url", "SIGN-IN LINK"),), plain=("url",), id="url", once=("url",))


@account.command("create", spec=_NEW_ACCOUNT)
def account_create(
    context: typer.Context,
    email: Email,
    name: Annotated[str | None, typer.Option(help="Name of the person, as readers see it.")] = None,
    tier: Annotated[str, typer.Option(help="Plan: free, basic, or pro.")] = "pro",
    mail: Annotated[
        bool, typer.Option("--mail/--no-mail", help="Email an invitation, if a mail server is set up.")
    ] = True,
    data: Data = None,
    dry_run: DryRun = False,
) -> ExitCode:
    """Create an account with an API key.

    The key is shown only once.

    If a mail server is set up, the person gets an invitation: a link that works once, for seven days, and on whose page
    they can set a password. Otherwise, create a sign-in link for them with docshare admin login-link.

    Examples:

      docshare admin account create ada@example.com --tier basic
    """
    wanted = None if mail else "no"
    return run_change(
        context, data, dry_run, _NEW_ACCOUNT, "account create", email=email, name=name, tier=tier, mail=wanted
    )


@account.command("list", spec=_ACCOUNT)
def account_list(context: typer.Context, data: Data = None) -> None:
    """List the accounts of the instance.

    Examples:

      docshare admin account list
    """
    current_context().emit(run_admin_command(context, data, "account list"), _ACCOUNT)


@account.command("set-tier", spec=_ACCOUNT)
def account_set_tier(
    context: typer.Context,
    email: Email,
    tier: Annotated[str, typer.Argument(metavar="TIER", help="free, basic, or pro.")],
    data: Data = None,
    dry_run: DryRun = False,
) -> ExitCode:
    """Change the plan of an account, effective immediately.

    Examples:

      docshare admin account set-tier ada@example.com pro
    """
    return run_change(context, data, dry_run, _ACCOUNT, "account set-tier", email=email, tier=tier)


@account.command("set-email", spec=_ACCOUNT)
def account_set_email(
    context: typer.Context,
    email: Email,
    new: Annotated[str, typer.Argument(metavar="NEW", help="New email address.")],
    data: Data = None,
    dry_run: DryRun = False,
) -> ExitCode:
    """Change the email address of an account.

    Emails to the old address that were not sent yet go to the new one.

    Examples:

      docshare admin account set-email owner@localhost ada@example.com
    """
    return run_change(context, data, dry_run, _ACCOUNT, "account set-email", email=email, new=new)


@account.command("rename", spec=_ACCOUNT)
def account_rename(
    context: typer.Context,
    email: Email,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the person, as readers see it.")],
    data: Data = None,
    dry_run: DryRun = False,
) -> ExitCode:
    """Change the name of an account.

    Examples:

      docshare admin account rename ada@example.com "Ada Lovelace"
    """
    return run_change(context, data, dry_run, _ACCOUNT, "account rename", email=email, name=name)


@account.command("disable", spec=_ACCOUNT)
def account_disable(context: typer.Context, email: Email, data: Data = None, dry_run: DryRun = False) -> ExitCode:
    """Disable an account, effective immediately.

    Nobody can sign in to it, its API keys and apps are rejected, and it gets no emails. Nothing is sent to its
    webhooks. Its links stay open for readers. docshare admin account enable reverses this.

    Examples:

      docshare admin account disable ada@example.com --yes
    """
    if not dry_run:
        confirm(current_context(), f"Disable the account of {email}? Programs that use its keys stop working.")
    return run_change(context, data, dry_run, _ACCOUNT, "account disable", email=email)


@account.command("enable", spec=_ACCOUNT)
def account_enable(context: typer.Context, email: Email, data: Data = None, dry_run: DryRun = False) -> ExitCode:
    """Enable a disabled account again.

    Its API keys and apps work again. Browsers must sign in. Its webhooks receive the events from now on.

    Examples:

      docshare admin account enable ada@example.com
    """
    return run_change(context, data, dry_run, _ACCOUNT, "account enable", email=email)


@account.command("usage", spec=_USAGE)
def account_usage(
    context: typer.Context,
    email: Annotated[str | None, typer.Argument(metavar="[EMAIL]", help="Email address of one account.")] = None,
    data: Data = None,
) -> None:
    """Show files, bytes, and readers' sessions of each account.

    Files in the trash are not included.

    Examples:

      docshare admin account usage
      docshare admin account usage ada@example.com
    """
    current_context().emit(run_admin_command(context, data, "account usage", email=email), _USAGE)


@account.command("delete", spec=_ACCOUNT)
def account_delete(
    context: typer.Context,
    email: Email,
    typed: Annotated[str | None, typer.Option("--confirm", metavar="EMAIL", help="Confirm by repeating EMAIL.")] = None,
    data: Data = None,
    dry_run: DryRun = False,
) -> ExitCode:
    """Delete an account with all its files, links, and readership.

    This cannot be undone.

    Examples:

      docshare admin account delete ada@example.com --yes
    """
    if not dry_run:
        confirm_irreversible(
            current_context(), f"Deleting {email} with all files and their readership", [email], typed=typed
        )
    return run_change(context, data, dry_run, _ACCOUNT, "account delete", email=email)


@key.command("create", spec=_NEW_KEY)
def key_create(
    context: typer.Context,
    email: Email,
    name: Annotated[str | None, typer.Option(help="Purpose of the key.")] = None,
    data: Data = None,
    dry_run: DryRun = False,
) -> ExitCode:
    """Create an API key.

    The key is shown only once. Piped output is only the key.

    Examples:

      docshare admin key create ada@example.com --name ci
    """
    return run_change(context, data, dry_run, _NEW_KEY, "key create", email=email, name=name)


@key.command("list", spec=_KEY)
def key_list(context: typer.Context, email: Email, data: Data = None) -> None:
    """List the API keys of an account by name.

    Examples:

      docshare admin key list ada@example.com
    """
    current_context().emit(run_admin_command(context, data, "key list", email=email), _KEY)


@key.command("revoke", spec=_KEY)
def key_revoke(
    context: typer.Context,
    uuid: Annotated[str, typer.Argument(metavar="UUID", help="UUID of the key.")],
    data: Data = None,
    dry_run: DryRun = False,
) -> ExitCode:
    """Revoke an API key, effective immediately.

    Examples:

      docshare admin key revoke 6f1c2e9a-3b0d-4d53-9a51-0c8d3f5f8f10 --yes
    """
    if not dry_run:
        confirm(current_context(), f"Revoke key {uuid}? Programs that use it stop working.")
    return run_change(context, data, dry_run, _KEY, "key revoke", uuid=uuid)


@app.command("login-link", spec=_LINK)
def login_link(context: typer.Context, email: Email, data: Data = None, dry_run: DryRun = False) -> ExitCode:
    """Create a one-time sign-in link that is valid for 10 minutes.

    Examples:

      docshare admin login-link ada@example.com
    """
    code = run_change(context, data, dry_run, _LINK, "login-link", email=email)
    if not dry_run and not is_served(resolve_data_dir(context, data)):
        current_context().note("no server is running on this data directory; the link works once one is")
    return code
