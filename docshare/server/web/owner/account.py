"""The account page: name, address, plan, API keys, apps, password, other browsers, and retention times.

The owner of the instance also sees the other accounts and invites colleagues.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from flask import Blueprint, Response, request
from werkzeug.wrappers import Response as AnyResponse

from docshare.contract.amounts import format_plural, format_size
from docshare.contract.limits import ACCOUNT_PASSWORD_CHARS, PASSWORD_BYTES
from docshare.contract.plans import DAY, Plan
from docshare.contract.problems import Problem
from docshare.contract.scopes import SCOPES
from docshare.contract.wire import format_instant, parse_instant
from docshare.report import words
from docshare.server.http.views import current_runtime
from docshare.server.services.accounts import accounts, invitations, keys, passwords, sign_in
from docshare.server.services.accounts.callers import Caller
from docshare.server.services.oauth import grants
from docshare.server.services.operations import unsubscribe
from docshare.server.web.owner import plan_words
from docshare.server.web.owner.form_errors import locate_errors
from docshare.server.web.owner.frame import (
    SignedInOwner,
    owner_form,
    owner_page,
    redirect_with_message,
    render_owner_page,
    resumable_form,
)

blueprint = Blueprint("owner_account", __name__)

_PATH = "/account"
_KEY_DAYS = ("30", "90", "365")
_RESTRICTED_CONTROLS = {
    "name": ("restricted-name", "Name"),
    "scopes": ("restricted-scopes", "Access"),
    "file": ("restricted-file", "Only for one file"),
    "expiresAt": ("restricted-days", "Valid for"),
}
_Row = Mapping[str, Any]


@blueprint.get(_PATH)
@owner_page
def show(owner: SignedInOwner) -> AnyResponse:
    """Show ``/account``."""
    return _render_page(owner)


def _refill(owner: SignedInOwner, problem: Problem) -> AnyResponse:
    form, names = request.form, ("name", "email", "colleague_email", "colleague_name", "tier")
    typed: dict[str, str | list[str]] = {name: form[name] for name in names if name in form}
    if "restricted" in form:
        typed |= {"restricted_name": form.get("key_name", ""), "scopes": form.getlist("scope")}
        typed |= {name: form.get(name, "") for name in ("file", "days")}
    elif "key_name" in form:
        typed["key_name"] = form["key_name"]
    return _render_page(owner, problem, {}, **typed)


@blueprint.post("/account/name")
@resumable_form(_refill)
def rename(owner: SignedInOwner) -> AnyResponse:
    """Change the name of the account."""
    name = request.form.get("name", "")
    try:
        accounts.rename(current_runtime(), owner.caller.account_id, name)
    except Problem as problem:
        return _render_page(owner, problem, {"name": ("name", "Name")}, name=name)
    return redirect_with_message(_PATH, "Your name was changed.")


@blueprint.post("/account/email")
@resumable_form(_refill)
def change_email(owner: SignedInOwner) -> AnyResponse:
    """Change the address of the account; with a mail server, once the link mailed to the new one was followed."""
    email = request.form.get("email", "")
    try:
        is_changed = invitations.change_email(current_runtime(), owner.caller, email)
    except Problem as problem:
        return _render_page(owner, problem, {"email": ("email", "Email address")}, email=email)
    if is_changed:
        return redirect_with_message(_PATH, f"Your email address is now {email.strip()}.")
    return redirect_with_message(_PATH, f"Follow the link that was emailed to {email.strip()}.")


@blueprint.post("/account/colleagues")
@resumable_form(_refill)
def invite_colleague(owner: SignedInOwner) -> AnyResponse:
    """Create an account for a colleague and mail an invitation, or show its link if no mail server is configured. 403
    for anybody but the owner of the instance."""
    email, name, tier = (request.form.get(key, "") for key in ("colleague_email", "colleague_name", "tier"))
    try:
        plan = Plan.from_tier(tier) if tier in {plan.tier for plan in Plan} else Plan.PRO
        invitation = invitations.invite_colleague(current_runtime(), owner.caller, email, name, plan)
    except Problem as problem:
        if problem.code == "forbidden":
            raise
        controls = {"email": ("colleague-email", "Email address of a colleague"), "name": ("colleague-name", "Name")}
        return _render_page(owner, problem, controls, colleague_email=email, colleague_name=name, tier=tier)
    if invitation.link is None:
        return redirect_with_message(_PATH, f"An invitation was emailed to {invitation.account.email}.")
    return _render_page(owner, invitation_link=invitation.link, invited=invitation.account.email)


@blueprint.post("/account/keys")
@resumable_form(_refill)
def create_key(owner: SignedInOwner) -> AnyResponse:
    """Create an API key: a personal one, or with chosen scopes a restricted one. Only this response shows it."""
    rt, name, scopes = current_runtime(), request.form.get("key_name", ""), request.form.getlist("scope")
    # A restricted key without any access must not become a personal one, which has full access.
    is_restricted = bool(scopes) or "restricted" in request.form
    file, days = (request.form.get(key, "").strip() for key in ("file", "days"))
    try:
        if not is_restricted:
            return _render_page(owner, new_key=keys.create_personal(rt, owner.caller, name).key)
        end = {"expiresAt": format_instant(rt.clock() + int(days) * DAY)} if days in _KEY_DAYS else {}
        wanted = keys.parse_key({"name": name, "scopes": scopes, **end, **({"file": file} if file else {})})
        return _render_page(owner, new_key=keys.create(rt, owner.caller, wanted)[1])
    except Problem as problem:
        if not is_restricted:
            return _render_page(owner, problem, {"name": ("key-name", "Name of a new key")}, key_name=name)
        problem.field = "file" if problem.code == "not_found" else problem.field
        return _render_page(
            owner, problem, _RESTRICTED_CONTROLS, restricted_name=name, scopes=scopes, file=file, days=days
        )


@blueprint.post("/account/keys/<uuid>/revoke")
@owner_form
def revoke_key(owner: SignedInOwner, uuid: str) -> AnyResponse:
    """Revoke an API key of the account. 404 for a key of another account."""
    row = accounts.revoke_key(current_runtime(), uuid, owner.caller.account_id)
    return redirect_with_message(_PATH, f"The key {row['name']} is revoked. Requests with it are rejected from now on.")


@blueprint.post("/account/apps/<uuid>/revoke")
@owner_form
def revoke_app(owner: SignedInOwner, uuid: str) -> AnyResponse:
    """Revoke the access of an app. 404 for an app of another account."""
    if not grants.revoke_app(current_runtime(), owner.caller.account_id, uuid):
        raise Problem("not_found", "There is no such app.", hint="It may have been revoked before.")
    return redirect_with_message(_PATH, "The app no longer has access.")


@blueprint.post("/account/sessions/end")
@owner_form
def end_sessions(owner: SignedInOwner) -> AnyResponse:
    """Sign out of all other browsers."""
    ended = sign_in.end_other_sessions(current_runtime(), owner.caller)
    return redirect_with_message(_PATH, f"Signed out of {format_plural(ended, 'other browser')}.")


@blueprint.post("/account/password")
@resumable_form(_refill)
def set_password(owner: SignedInOwner) -> AnyResponse:
    """Set or change the password; other browsers are signed out."""
    try:
        passwords.set_password(current_runtime(), owner.caller, request.form.get("password", ""))
    except Problem as problem:
        return _render_page(owner, problem, {"password": ("password", "Password")})
    return redirect_with_message(_PATH, "The password is set. Every other browser was signed out.")


@blueprint.post("/account/password/remove")
@owner_form
def remove_password(owner: SignedInOwner) -> AnyResponse:
    """Remove the password, so that only sign-in links work."""
    passwords.remove_password(current_runtime(), owner.caller)
    return redirect_with_message(_PATH, "The password is removed. Every other browser was signed out.")


def _list_muted(caller: Caller) -> list[str]:
    """List the kinds of notices that are switched off."""
    return [] if caller.account_id is None else unsubscribe.list_muted(current_runtime(), caller.account_id)


def _render_page(
    owner: SignedInOwner,
    problem: Problem | None = None,
    controls: Mapping[str, tuple[str, str]] = MappingProxyType({}),
    **typed: str | list[str],
) -> Response:
    """Render the page.

    Parameters: ``problem`` why a form was rejected, ``controls`` of that form as in ``locate_errors``, ``typed`` its
    values, or the ``new_key`` just created.
    """
    caller = owner.caller
    others = sign_in.count_other_sessions(current_runtime(), caller)
    return render_owner_page(
        owner,
        "account.html",
        "account",
        status=problem.status if problem else 200,
        problem=problem,
        errors=locate_errors(problem, controls),
        typed=typed,
        plan=plan_words.describe_plan(current_runtime(), caller),
        keys=_list_keys(caller),
        scopes=SCOPES,
        key_days=_KEY_DAYS,
        apps=_list_apps(caller),
        muted=[
            (unsubscribe.NOTICES[kind], unsubscribe.build_link(current_runtime(), caller.account_id, kind))
            for kind in _list_muted(caller)
        ],
        colleagues=_list_colleagues(caller),
        tiers=[plan.tier for plan in reversed(Plan)],
        has_password=passwords.has_password(current_runtime(), caller),
        least=ACCOUNT_PASSWORD_CHARS,
        most=PASSWORD_BYTES,
        others=format_plural(others, "other browser") if others else "no other",
        since=words.format_date(caller.created_at),
        kept=plan_words.list_retention_rules(caller.plan),
    )


def _list_colleagues(caller: Caller) -> list[_Row]:
    """Return the accounts of this server with their usage, for the owner of the instance; empty for others."""
    if not accounts.is_instance_owner(current_runtime(), caller.account_id):
        return []
    rows = accounts.list_usage(current_runtime())
    return [{**row, "size": format_size(row["bytes"])} for row in rows]


def _list_keys(caller: Caller) -> list[_Row]:
    """Return the active keys, newest first."""
    return [
        {
            **row,
            "created": _format_day(row["createdAt"]),
            "used": _format_day(row["lastUsedAt"]) if "lastUsedAt" in row else "",
            "expires": _format_day(row["expiresAt"]) if "expiresAt" in row else "",
            "may": [SCOPES[scope] for scope in row.get("scopes", ())],
        }
        for row in keys.list_active(current_runtime(), caller)
    ]


def _list_apps(caller: Caller) -> list[_Row]:
    return [
        {
            **row,
            "may": [SCOPES[scope] for scope in row["scopes"]],
            "since": _format_day(row["createdAt"]),
            "used": _format_day(row["lastUsedAt"]),
        }
        for row in grants.list_apps(current_runtime(), caller.account_id)
    ]


def _format_day(instant: str) -> str:
    millis = parse_instant(instant)
    return "" if millis is None else words.format_date(millis)
