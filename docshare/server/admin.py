"""The admin channel: ``docshare admin`` commands, run in process or sent to the running server over loopback."""

import hmac
import ipaddress
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeGuard

from flask import Flask, Response, jsonify, request

from docshare.contract.limits import URL_CHARS
from docshare.contract.plans import Plan
from docshare.contract.problems import Problem
from docshare.contract.wire import drop_none
from docshare.server.api.problems import render_problem
from docshare.server.api.represent import deliveries as represent_deliveries
from docshare.server.api.represent import resources, webhooks
from docshare.server.http.views import current_runtime
from docshare.server.runtime import Runtime
from docshare.server.services.accounts import accounts, invitations, sign_in
from docshare.server.services.events import listeners, triggers
from docshare.server.services.events.listeners import ListenerInput
from docshare.server.services.files import freeze, hotspots, trash
from docshare.server.services.links import invites
from docshare.server.services.oauth import clients
from docshare.server.services.operations import diagnosis, encryption, mail, sweeps
from docshare.server.services.webhooks import deliveries
from docshare.server.store.identity import instance_key
from docshare.server.strict_json import parse_object

PATH = "/_admin"
_TEXT_LIMIT = URL_CHARS
_BODY_LIMIT = 64 * 1024
_VALUE_PREFIX = "set."  # prefix of the keys of the values for a triggered event
_LISTENER_FIELDS = tuple(field.name for field in fields(ListenerInput))

Arguments = Mapping[str, str]


def _parse_plan(args: Arguments) -> Plan:
    tier = args.get("tier") or Plan.PRO.tier
    if tier not in {plan.tier for plan in Plan}:
        raise Problem("bad_request", f"There is no plan '{tier}'.", hint="Plans are free, basic, and pro.")
    return Plan.from_tier(tier)


def _create_account(runtime: Runtime, args: Arguments) -> dict[str, Any]:
    plan, name = _parse_plan(args), args.get("name", "")
    with runtime.db.write():
        if args.get("mail") == "no" or not runtime.mailer.is_configured:
            account, is_mailed = accounts.create_account(runtime, args["email"], name, plan), False
        else:
            account, is_mailed = invitations.invite(runtime, args["email"], name, plan).account, True
        key = accounts.create_key(runtime, account.email, "first key")
    created = {**accounts.describe(account), "apiKey": key.key}
    return {**created, "invited": True} if is_mailed else created


def _set_account_tier(runtime: Runtime, args: Arguments) -> dict[str, Any]:
    return accounts.describe(accounts.set_tier(runtime, args["email"], _parse_plan(args)))


def _delete_account(runtime: Runtime, args: Arguments) -> dict[str, Any]:
    return accounts.describe(accounts.delete_account(runtime, args["email"]))


def _create_key(runtime: Runtime, args: Arguments) -> dict[str, Any]:
    key = accounts.create_key(runtime, args["email"], args.get("name", ""))
    return {"uuid": key.uuid, "key": key.key}


def _create_login_link(runtime: Runtime, args: Arguments) -> dict[str, Any]:
    return {"url": sign_in.create_link(runtime, args["email"])}


def _create_invite(runtime: Runtime, args: Arguments) -> dict[str, Any]:
    body = drop_none({"email": args["email"], "name": args.get("name"), "mail": args.get("mail") != "no"})
    row = invites.create_any(runtime, args["file"], invites.parse_invite(body))
    return resources.invite_object(runtime.config.base_url, row)


def _list_deliveries(runtime: Runtime, args: Arguments) -> list[dict[str, Any]]:  # noqa: ARG001 - as every command
    return [represent_deliveries.admin_delivery_row(found) for found in deliveries.list_for_admin(runtime)]


def _show_delivery(runtime: Runtime, args: Arguments) -> dict[str, Any]:
    return represent_deliveries.admin_delivery_detail(deliveries.get_for_admin(runtime, args["id"]))


def _retry_delivery(runtime: Runtime, args: Arguments) -> dict[str, Any]:
    return represent_deliveries.admin_delivery_row(deliveries.retry_for_admin(runtime, args["id"]))


def _start_listener(runtime: Runtime, args: Arguments) -> dict[str, Any]:
    return listeners.start(runtime, ListenerInput(**{key: args.get(key, "") for key in _LISTENER_FIELDS}))


def _trigger_event(runtime: Runtime, args: Arguments) -> dict[str, Any]:
    event = triggers.TriggerInput(
        kind=args["kind"],
        file=args["file"],
        variant=args.get("variant", ""),
        values={key.removeprefix(_VALUE_PREFIX): value for key, value in args.items() if key.startswith(_VALUE_PREFIX)},
        has_consent=args.get("consent") == "yes",
        is_dry_run=args.get("rehearse") == "yes",
    )
    return triggers.trigger_event(runtime, event)


def _list_trash(runtime: Runtime, args: Arguments) -> list[dict[str, Any]]:
    return [trash.describe(row) for row in trash.list_trashed(runtime, args["email"])]


def _list_hotspots(runtime: Runtime, args: Arguments) -> list[dict[str, Any]]:
    return [hotspots.describe(row) for row in hotspots.list_hotspots(runtime, args["file"])]


def _create_client(runtime: Runtime, args: Arguments) -> dict[str, Any]:
    redirects = args["redirect-uris"].split()
    return clients.create(runtime, args["name"], redirects, public=args.get("public") == "yes")


def _start_probe(runtime: Runtime, args: Arguments) -> dict[str, Any]:  # noqa: ARG001 - as every command
    return {"token": runtime.probes.begin(runtime.random_token, runtime.clock())}


@dataclass(frozen=True)
class AdminCommand:
    """An admin command. ``required_arguments``: names of the required arguments; ``run`` returns what ``--json``
    prints."""

    run: Callable[[Runtime, Arguments], Any]
    required_arguments: tuple[str, ...] = ()


COMMANDS: dict[str, AdminCommand] = {
    "account create": AdminCommand(_create_account, required_arguments=("email",)),
    "account list": AdminCommand(
        lambda runtime, args: [accounts.describe(row) for row in accounts.list_accounts(runtime)]
    ),
    "account set-email": AdminCommand(
        lambda runtime, args: accounts.describe(accounts.set_email(runtime, args["email"], args["new"])),
        ("email", "new"),
    ),
    "account rename": AdminCommand(
        lambda runtime, args: accounts.describe(accounts.rename_by_email(runtime, args["email"], args["name"])),
        ("email", "name"),
    ),
    "account disable": AdminCommand(
        lambda runtime, args: accounts.describe(accounts.disable(runtime, args["email"])), ("email",)
    ),
    "account enable": AdminCommand(
        lambda runtime, args: accounts.describe(accounts.enable(runtime, args["email"])), ("email",)
    ),
    "account usage": AdminCommand(lambda runtime, args: accounts.list_usage(runtime, args.get("email") or None)),
    "account set-tier": AdminCommand(_set_account_tier, required_arguments=("email", "tier")),
    "account delete": AdminCommand(_delete_account, required_arguments=("email",)),
    "key create": AdminCommand(_create_key, required_arguments=("email",)),
    "key list": AdminCommand(
        lambda runtime, args: accounts.list_keys(runtime, args["email"]), required_arguments=("email",)
    ),
    "key revoke": AdminCommand(
        lambda runtime, args: accounts.revoke_key(runtime, args["uuid"]), required_arguments=("uuid",)
    ),
    "login-link": AdminCommand(_create_login_link, required_arguments=("email",)),
    "owner": AdminCommand(lambda runtime, args: accounts.describe(accounts.get_owner(runtime))),
    "invite": AdminCommand(_create_invite, required_arguments=("file", "email")),
    "outbox list": AdminCommand(lambda runtime, args: mail.list_outbox(runtime)),
    "outbox show": AdminCommand(
        lambda runtime, args: mail.show(runtime, args["uuid"], invites.find_mail_logo), required_arguments=("uuid",)
    ),
    "deliveries list": AdminCommand(_list_deliveries),
    "deliveries show": AdminCommand(_show_delivery, required_arguments=("id",)),
    "deliveries retry": AdminCommand(_retry_delivery, required_arguments=("id",)),
    "frozen": AdminCommand(lambda runtime, args: freeze.list_frozen(runtime)),
    "freeze": AdminCommand(lambda runtime, args: freeze.freeze(runtime, args["file"]), required_arguments=("file",)),
    "unfreeze": AdminCommand(
        lambda runtime, args: freeze.unfreeze(runtime, args["file"]), required_arguments=("file",)
    ),
    "hotspot add": AdminCommand(
        lambda runtime, args: hotspots.describe(hotspots.add(runtime, args["file"], args)), ("file", "page", "rect")
    ),
    "hotspot list": AdminCommand(_list_hotspots, required_arguments=("file",)),
    "hotspot remove": AdminCommand(
        lambda runtime, args: hotspots.describe(hotspots.remove(runtime, args["uuid"])), ("uuid",)
    ),
    "listen start": AdminCommand(_start_listener, required_arguments=("url",)),
    "listen keep": AdminCommand(
        lambda runtime, args: listeners.renew(runtime, args["uuid"]), required_arguments=("uuid",)
    ),
    "listen test": AdminCommand(
        lambda runtime, args: webhooks.test_result(listeners.send_test(runtime, args["uuid"])), ("uuid",)
    ),
    "listen stop": AdminCommand(
        lambda runtime, args: listeners.stop(runtime, args["uuid"]), required_arguments=("uuid",)
    ),
    "client create": AdminCommand(_create_client, required_arguments=("name", "redirect-uris")),
    "client list": AdminCommand(lambda runtime, args: clients.list_clients(runtime)),
    "client remove": AdminCommand(
        lambda runtime, args: clients.remove(runtime, args["id"]), required_arguments=("id",)
    ),
    "trigger": AdminCommand(_trigger_event, required_arguments=("kind", "file")),
    "trash list": AdminCommand(_list_trash, required_arguments=("email",)),
    "trash restore": AdminCommand(
        lambda runtime, args: trash.describe(trash.restore_any(runtime, args["file"])), ("file",)
    ),
    "trash purge": AdminCommand(
        lambda runtime, args: trash.describe(trash.purge_any(runtime, args["file"])), ("file",)
    ),
    "doctor": AdminCommand(diagnosis.run_checks),
    "probe start": AdminCommand(_start_probe),
    "probe end": AdminCommand(lambda runtime, args: runtime.probes.end(args["token"]), required_arguments=("token",)),
    "vault status": AdminCommand(lambda runtime, args: encryption.describe(runtime)),
    "vault export": AdminCommand(lambda runtime, args: encryption.export(runtime)),
    "vault rotate": AdminCommand(lambda runtime, args: encryption.rotate(runtime)),
    "sweep": AdminCommand(lambda runtime, args: sweeps.run_all(runtime)),
}


def run_command(runtime: Runtime, command: str, args: Arguments) -> Any:
    """Run one admin command.

    Parameters: ``command`` a key of ``COMMANDS``; ``args`` its arguments by name. Returns what ``--json`` prints.
    Raises Problem: ``bad_request``, ``not_found``, ``conflict``.
    """
    row = COMMANDS.get(command)
    if row is None:
        raise Problem("bad_request", f"There is no admin command '{command}'.")
    missing = [name for name in row.required_arguments if not args.get(name)]
    if missing:
        raise Problem("bad_request", f"The admin command '{command}' needs {', '.join(missing)}.")
    return row.run(runtime, args)


def register(app: Flask) -> None:
    """Register the channel: loopback only, with the instance key."""
    app.add_url_rule(PATH, "admin", _handle_request, methods=["POST"])


def _handle_request() -> Response:
    if not _is_local_request() or not _has_instance_key():
        return Response("Not found\n", 404, content_type="text/plain; charset=utf-8")
    try:
        body = parse_object(request.get_data(), _BODY_LIMIT)
        if not isinstance(body.get("command"), str) or not _is_text_mapping(body.get("args")):
            raise Problem("bad_request", "Send {command, args} with strings as arguments.")
        return jsonify(run_command(current_runtime(), body["command"], body["args"]))
    except Problem as problem:
        return render_problem(problem)


def _is_local_request() -> bool:
    # A proxy on this host would make everybody local, so a forwarded request is never accepted.
    forwarded = any(name.lower().startswith(("x-forwarded", "forwarded")) for name in request.headers.keys())  # noqa: SIM118
    try:
        return not forwarded and ipaddress.ip_address(request.remote_addr or "").is_loopback
    except ValueError:
        return False


def _has_instance_key() -> bool:
    given = request.headers.get("Authorization", "").encode("utf-8", "replace")
    return hmac.compare_digest(given, f"Instance {instance_key(current_runtime().config.data_dir)}".encode())


def _is_text_mapping(args: object) -> TypeGuard[Arguments]:
    return isinstance(args, dict) and all(
        isinstance(value, str) and len(value) <= _TEXT_LIMIT for value in args.values()
    )
