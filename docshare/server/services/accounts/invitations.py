"""Mailed links of accounts: an invitation, a forgotten password, and the confirmation of a new address.

Each link works once. Without a mail server no link is mailed: the operator gets the link of an invitation to pass on,
an address is changed at once, and a forgotten password needs a sign-in link of the operator.
"""

import time
from dataclasses import dataclass

from docshare.contract.limits import CONFIRMATION_LINK_MS, HOUR, INVITATION_LINK_MS, MINUTE, RESET_LINK_MS, RatePolicy
from docshare.contract.plans import Plan
from docshare.contract.problems import Problem
from docshare.server.rules.identity import network_prefix
from docshare.server.rules.mails import is_placeholder
from docshare.server.runtime import Runtime
from docshare.server.services.accounts import accounts, passwords, sign_in
from docshare.server.services.accounts.callers import Caller, digest, recheck_caller
from docshare.server.services.operations import mail
from docshare.server.store.tables import Account
from docshare.server.store.tables import accounts as account_rows
from docshare.server.store.tables import sign_in as sign_in_rows
from docshare.server.store.tables.sign_in import CONFIRMATION, INVITATION, RESET

RESETS_PER_NETWORK = RatePolicy("reset", 5, 15 * MINUTE, "address")
RESETS_PER_ACCOUNT = RatePolicy("reset-account", 3, HOUR, "account")
CONFIRMATIONS_PER_ACCOUNT = RatePolicy("confirmation", 5, HOUR, "account")
INVITATIONS_PER_ACCOUNT = RatePolicy("invitation", 30, HOUR, "account")
# A request for a reset takes at least this long, so that its duration does not reveal whether a mail was written.
_RESET_S = 0.2


@dataclass(frozen=True)
class Invitation:
    """A new ``account`` and its invitation: ``link`` if no mail server is configured, None if it was mailed."""

    account: Account
    link: str | None


def invite(rt: Runtime, email: str, name: str, plan: Plan) -> Invitation:
    """Create an account and invite its owner, who may set a password when following the link, within seven days.

    Raises what ``accounts.create_account`` raises.
    """
    with rt.db.write():
        account = accounts.create_account(rt, email, name, plan)
        link = sign_in.create_account_link(rt, account.id, INVITATION, INVITATION_LINK_MS)
        if not rt.mailer.is_configured:
            return Invitation(account, link)
        host = rt.config.base_url.partition("://")[2]
        body = (
            f"Hello {account.name},\n\nyou have an account to share documents at {rt.config.base_url}. "
            f"Sign in for the first time:\n\n    {link}\n\n"
            "The link works once, for seven days. You can set a password on its page.\n"
        )
        mail.enqueue(rt, account.email, f"Your account at {host}", body)
    return Invitation(account, None)


def invite_colleague(rt: Runtime, caller: Caller, email: str, name: str, plan: Plan) -> Invitation:
    """Invite as ``invite`` does, on behalf of the owner of the instance.

    Raises ``forbidden`` for any other caller, ``rate_limited``, ``unauthorized`` if the caller was signed out
    meanwhile, and what ``invite`` raises.
    """
    accounts.require_instance_owner(rt, caller)
    _require_allowance(rt, INVITATIONS_PER_ACCOUNT, caller.uuid, "Too many invitations.")
    with rt.db.write():
        recheck_caller(rt, caller)
        return invite(rt, email, name, plan)


def request_reset(rt: Runtime, email: str, address: str) -> None:
    """Mail a link to choose a new password to the account of ``email``, if there is one.

    Send at most three such mails an hour. Neither the result nor the time reveals whether a mail was sent. Raises
    ``not_found`` if no mail server is configured, ``rate_limited`` for the network ``address``.
    """
    if not rt.mailer.is_configured:
        raise Problem(
            "not_found", "This server cannot send email.", hint="Ask the person who runs it for a sign-in link."
        )
    started = time.monotonic()
    _require_allowance(rt, RESETS_PER_NETWORK, network_prefix(address), "Too many requests.")
    email = email.strip()
    # Counted for unknown addresses as well: the limit must not reveal which addresses have an account.
    is_allowed = rt.limits.hit(RESETS_PER_ACCOUNT, digest(email.lower()), RESETS_PER_ACCOUNT.limit).is_allowed
    # Found under the lock: meanwhile the account may get another address because somebody else reads the old one. Under
    # the lock for unknown addresses as well, so that they wait as long for it.
    with rt.db.write():
        account = account_rows.find_by_email(rt.db, email)
        if is_allowed and account is not None and account.disabled_at is None:
            link = sign_in.create_account_link(rt, account.id, RESET, RESET_LINK_MS)
            body = (
                f"Hello {account.name},\n\nsomebody requested a new password for your account at "
                f"{rt.config.base_url}:\n\n    {link}\n\n"
                "The link works once, for one hour. If you did not request it, ignore this email: nothing was "
                "changed.\n"
            )
            mail.enqueue(rt, account.email, "Choose a new password", body)
    time.sleep(max(0.0, _RESET_S - (time.monotonic() - started)))


def accept(rt: Runtime, token: str, password: str) -> str:
    """Use the link of an invitation or of a reset and return the value of the session cookie.

    ``password`` becomes the password of the account; with an invitation it may be empty. A reset signs out all other
    browsers. Raises ``gone`` like ``sign_in.get_link``, ``bad_request`` for a password that is not allowed; the link
    can then be used again.
    """
    link = sign_in.get_link(rt, token)
    stored = None
    if password or link.kind == RESET:
        stored = passwords.hash_new_password(rt, password, link.email)
    with rt.db.write():
        account_id = sign_in.use_link(rt, token).account_id
        if stored is not None:
            account_rows.set_password_hash(rt.db, account_id, stored)
            sign_in_rows.delete_links(rt.db, account_id, INVITATION, RESET)
        if link.kind == RESET:
            sign_in_rows.delete_sessions(rt.db, account_id)
            # Otherwise, one of these browsers could have requested another address, and still get the account by it.
            sign_in.end_pending(rt, account_id)
        cookie = sign_in.create_session(rt, account_id)
        assert cookie is not None  # the links of a deleted account are deleted with it
        return cookie


def change_email(rt: Runtime, caller: Caller, email: str) -> bool:
    """Change the address of the caller's account; return False if the new address must be confirmed first, by a link
    that was mailed to it.

    Raises ``bad_request`` for a malformed address, ``conflict`` for one that is taken, ``rate_limited``, and
    ``unauthorized`` if the caller was signed out meanwhile.
    """
    email = accounts.require_free_email(rt, email, caller.account_id)
    if not rt.mailer.is_configured or is_placeholder(email):
        with rt.db.write():
            accounts.set_email(rt, recheck_caller(rt, caller).email, email)
        return True
    _require_allowance(rt, CONFIRMATIONS_PER_ACCOUNT, caller.uuid, "Too many changes of the email address.")
    with rt.db.write():
        caller = recheck_caller(rt, caller)
        sign_in_rows.delete_links(rt.db, caller.account_id, CONFIRMATION)
        link = sign_in.create_account_link(rt, caller.account_id, CONFIRMATION, CONFIRMATION_LINK_MS, email)
        body = (
            f"Hello {caller.name},\n\nconfirm that {email} is the new email address of your account at "
            f"{rt.config.base_url}:\n\n    {link}\n\n"
            "The link works once, for one day. If you did not request it, ignore this email: nothing was changed.\n"
        )
        mail.enqueue(rt, email, "Confirm your new email address", body)
    return False


def confirm_email(rt: Runtime, token: str) -> str:
    """Use the link of a confirmation: the account gets its new address, which is returned.

    Raises ``gone`` like ``sign_in.get_link``, ``conflict`` if the address was taken meanwhile.
    """
    with rt.db.write():
        link = sign_in.use_link(rt, token)
        assert link.new_email is not None
        return str(accounts.set_email(rt, link.email, link.new_email).email)


def _require_allowance(rt: Runtime, policy: RatePolicy, key: str, detail: str) -> None:
    allowance = rt.limits.hit(policy, key, policy.limit)
    if not allowance.is_allowed:
        raise Problem("rate_limited", detail, headers={"Retry-After": str(allowance.reset_s)})
