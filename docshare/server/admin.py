"""The admin channel: ``docshare admin`` commands, in process or handed to the running server over loopback."""

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
from docshare.server.http.strict_json import parse_object
from docshare.server.http.views import rt
from docshare.server.runtime import Runtime
from docshare.server.services.accounts import accounts, sign_in
from docshare.server.services.events import listeners, triggers
from docshare.server.services.events.listeners import Wish
from docshare.server.services.files import freeze, hotspots, trash
from docshare.server.services.links import invites
from docshare.server.services.oauth import clients
from docshare.server.services.operations import diagnosis, mail, sweeps
from docshare.server.services.webhooks import deliveries
from docshare.server.store.instance import instance_key

PATH = "/_admin"
_TEXT_LIMIT = URL_CHARS
_BODY_LIMIT = 64 * 1024
_SET = "set."  # before the keys of the values that an event is triggered with
_WISH = tuple(field.name for field in fields(Wish))

Arguments = Mapping[str, str]


def _plan(args: Arguments) -> Plan:
    tier = args.get("tier") or Plan.PRO.tier
    if tier not in {plan.tier for plan in Plan}:
        raise Problem("bad_request", f"There is no plan '{tier}'.", hint="Plans are free, basic and pro.")
    return Plan.of(tier)


def _account_create(runtime: Runtime, args: Arguments) -> dict[str, Any]:
    account = accounts.create_account(runtime, args["email"], args.get("name", ""), _plan(args))
    key = accounts.create_key(runtime, account.email, "first key")
    return {**accounts.describe(account), "apiKey": key.key}


def _account_set_tier(runtime: Runtime, args: Arguments) -> dict[str, Any]:
    return accounts.describe(accounts.set_tier(runtime, args["email"], _plan(args)))


def _account_delete(runtime: Runtime, args: Arguments) -> dict[str, Any]:
    return accounts.describe(accounts.delete_account(runtime, args["email"]))


def _key_create(runtime: Runtime, args: Arguments) -> dict[str, Any]:
    key = accounts.create_key(runtime, args["email"], args.get("name", ""))
    return {"uuid": key.uuid, "key": key.key}


def _login_link(runtime: Runtime, args: Arguments) -> dict[str, Any]:
    return {"url": sign_in.create_link(runtime, args["email"])}


def _invite(runtime: Runtime, args: Arguments) -> dict[str, Any]:
    body = drop_none({"email": args["email"], "name": args.get("name"), "mail": args.get("mail") != "no"})
    row = invites.create_any(runtime, args["file"], invites.read_wish(body))
    return resources.invite_object(runtime.config.base_url, row)


def _deliveries_list(runtime: Runtime, args: Arguments) -> list[dict[str, Any]]:  # noqa: ARG001 - as every command
    return [represent_deliveries.admin_delivery_row(found) for found in deliveries.list_all(runtime)]


def _deliveries_show(runtime: Runtime, args: Arguments) -> dict[str, Any]:
    return represent_deliveries.admin_delivery_detail(deliveries.show_any(runtime, args["id"]))


def _deliveries_retry(runtime: Runtime, args: Arguments) -> dict[str, Any]:
    return represent_deliveries.admin_delivery_row(deliveries.retry_any(runtime, args["id"]))


def _listen_start(runtime: Runtime, args: Arguments) -> dict[str, Any]:
    return listeners.start(runtime, Wish(**{key: args.get(key, "") for key in _WISH}))


def _trigger(runtime: Runtime, args: Arguments) -> dict[str, Any]:
    wish = triggers.Wish(
        kind=args["kind"],
        file=args["file"],
        variant=args.get("variant", ""),
        values={key.removeprefix(_SET): value for key, value in args.items() if key.startswith(_SET)},
        consent=args.get("consent") == "yes",
        rehearse=args.get("rehearse") == "yes",
    )
    return triggers.cause(runtime, wish)


def _trash_list(runtime: Runtime, args: Arguments) -> list[dict[str, Any]]:
    return [trash.describe(row) for row in trash.list_trashed(runtime, args["email"])]


def _hotspot_list(runtime: Runtime, args: Arguments) -> list[dict[str, Any]]:
    return [hotspots.describe(row) for row in hotspots.list_hotspots(runtime, args["file"])]


def _client_create(runtime: Runtime, args: Arguments) -> dict[str, Any]:
    redirects = args["redirect-uris"].split()
    return clients.create(runtime, args["name"], redirects, public=args.get("public") == "yes")


def _probe_start(runtime: Runtime, args: Arguments) -> dict[str, Any]:  # noqa: ARG001 - as every command
    return {"token": runtime.probes.begin(runtime.token, runtime.clock())}


@dataclass(frozen=True)
class Command:
    """``needs``: names of the arguments that must be given; ``run`` returns what ``--json`` prints."""

    run: Callable[[Runtime, Arguments], Any]
    needs: tuple[str, ...] = ()


COMMANDS: dict[str, Command] = {
    "account create": Command(_account_create, needs=("email",)),
    "account list": Command(lambda runtime, args: [accounts.describe(row) for row in accounts.list_accounts(runtime)]),
    "account set-tier": Command(_account_set_tier, needs=("email", "tier")),
    "account delete": Command(_account_delete, needs=("email",)),
    "key create": Command(_key_create, needs=("email",)),
    "key list": Command(lambda runtime, args: accounts.list_keys(runtime, args["email"]), needs=("email",)),
    "key revoke": Command(lambda runtime, args: accounts.revoke_key(runtime, args["uuid"]), needs=("uuid",)),
    "login-link": Command(_login_link, needs=("email",)),
    "owner": Command(lambda runtime, args: accounts.describe(accounts.owner(runtime))),
    "invite": Command(_invite, needs=("file", "email")),
    "outbox list": Command(lambda runtime, args: mail.list_outbox(runtime)),
    "outbox show": Command(lambda runtime, args: mail.show(runtime, args["uuid"]), needs=("uuid",)),
    "deliveries list": Command(_deliveries_list),
    "deliveries show": Command(_deliveries_show, needs=("id",)),
    "deliveries retry": Command(_deliveries_retry, needs=("id",)),
    "frozen": Command(lambda runtime, args: freeze.list_frozen(runtime)),
    "freeze": Command(lambda runtime, args: freeze.freeze(runtime, args["file"]), needs=("file",)),
    "unfreeze": Command(lambda runtime, args: freeze.unfreeze(runtime, args["file"]), needs=("file",)),
    "hotspot add": Command(
        lambda runtime, args: hotspots.describe(hotspots.add(runtime, args["file"], args)), ("file", "page", "rect")
    ),
    "hotspot list": Command(_hotspot_list, needs=("file",)),
    "hotspot remove": Command(
        lambda runtime, args: hotspots.describe(hotspots.remove(runtime, args["uuid"])), ("uuid",)
    ),
    "listen start": Command(_listen_start, needs=("url",)),
    "listen keep": Command(lambda runtime, args: listeners.keep(runtime, args["uuid"]), needs=("uuid",)),
    "listen test": Command(
        lambda runtime, args: webhooks.test_result(listeners.test(runtime, args["uuid"])), ("uuid",)
    ),
    "listen stop": Command(lambda runtime, args: listeners.stop(runtime, args["uuid"]), needs=("uuid",)),
    "client create": Command(_client_create, needs=("name", "redirect-uris")),
    "client list": Command(lambda runtime, args: clients.list_clients(runtime)),
    "client remove": Command(lambda runtime, args: clients.remove(runtime, args["id"]), needs=("id",)),
    "trigger": Command(_trigger, needs=("kind", "file")),
    "trash list": Command(_trash_list, needs=("email",)),
    "trash restore": Command(lambda runtime, args: trash.describe(trash.restore_any(runtime, args["file"])), ("file",)),
    "trash purge": Command(lambda runtime, args: trash.describe(trash.purge_any(runtime, args["file"])), ("file",)),
    "doctor": Command(diagnosis.run),
    "probe start": Command(_probe_start),
    "probe end": Command(lambda runtime, args: runtime.probes.end(args["token"]), needs=("token",)),
    "sweep": Command(lambda runtime, args: sweeps.run(runtime)),
}


def run(runtime: Runtime, command: str, args: Arguments) -> Any:
    """Run one admin command.

    Parameters: ``command`` a key of ``COMMANDS``; ``args`` its arguments by name. Returns what ``--json`` prints.
    Raises Problem: ``bad_request``, ``not_found``, ``conflict``.
    """
    row = COMMANDS.get(command)
    if row is None:
        raise Problem("bad_request", f"There is no admin command '{command}'.")
    missing = [name for name in row.needs if not args.get(name)]
    if missing:
        raise Problem("bad_request", f"The admin command '{command}' needs {', '.join(missing)}.")
    return row.run(runtime, args)


def register(app: Flask) -> None:
    """Open the channel: loopback only, with the instance key."""
    app.add_url_rule(PATH, "admin", _answer, methods=["POST"])


def _answer() -> Response:
    if not _from_this_host() or not _knows_key():
        return Response("Not found\n", 404, content_type="text/plain; charset=utf-8")
    try:
        body = parse_object(request.get_data(), _BODY_LIMIT)
        if not isinstance(body.get("command"), str) or not _are_arguments(body.get("args")):
            raise Problem("bad_request", "Send {command, args} with texts as arguments.")
        return jsonify(run(rt(), body["command"], body["args"]))
    except Problem as problem:
        return render_problem(problem)


def _from_this_host() -> bool:
    # A proxy on this host would make everybody local, so a forwarded request is never from here.
    forwarded = any(name.lower().startswith(("x-forwarded", "forwarded")) for name in request.headers.keys())  # noqa: SIM118
    try:
        return not forwarded and ipaddress.ip_address(request.remote_addr or "").is_loopback
    except ValueError:
        return False


def _knows_key() -> bool:
    given = request.headers.get("Authorization", "").encode("utf-8", "replace")
    return hmac.compare_digest(given, f"Instance {instance_key(rt().config.data_dir)}".encode())


def _are_arguments(args: object) -> TypeGuard[Arguments]:
    return isinstance(args, dict) and all(
        isinstance(value, str) and len(value) <= _TEXT_LIMIT for value in args.values()
    )
