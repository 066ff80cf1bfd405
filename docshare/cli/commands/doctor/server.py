"""``docshare doctor``, group "server": the way to the server in effect, and what it says to the credential."""

import socket
import ssl
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from docshare.cli.commands.doctor.checks import SECONDS, Answer, Check, Scene
from docshare.cli.commands.doctor.program import proxy_of
from docshare.client.address import is_loopback
from docshare.contract.findings import Finding, absent, broken, doubtful, fine
from docshare.contract.scopes import FILES_READ, PROFILE, READERSHIP_READ, WEBHOOKS_MANAGE

_DAY_S = 86_400
_FEW_DAYS, _LAST_DAYS = 14, 3
_CLOCKS_DIFFER_S, _SIGNATURES_FAIL_S = 60, 300
_PRIVATE = {"email": "<email>", "name": "<name>", "uuid": "<uuid>"}
_PORTS = {"http": 80, "https": 443}
_API = "/api/v1"
_CLOCK_FIX = "Set the clock of this machine by NTP; on a server of your own, that one's too."
# Reading what asks for a scope shows whether the credential holds it. What writes is not tried.
_PROBES = {
    FILES_READ: "/files",
    READERSHIP_READ: "/events?limit=1",
    WEBHOOKS_MANAGE: "/webhooks",
    PROFILE: "/user",
}


class Place(NamedTuple):
    """Where a server answers."""

    scheme: str
    host: str
    port: int


def place_of(url: str) -> Place:
    """The place that an http or https address names."""
    parts = urlsplit(url)
    return Place(parts.scheme, parts.hostname or "", parts.port or _PORTS[parts.scheme])


def _here(scene: Scene) -> Place:
    place = place_of(str(scene.ctx.connection.url.value))
    hide_host(scene, place)
    return place


def hide_host(scene: Scene, place: Place) -> None:
    """Let no bug report name the host, unless it is just this machine."""
    if not is_loopback(place.host):
        scene.hide(place.host, "<host>")


def _name(scene: Scene) -> Finding:
    host = _here(scene).host
    if proxy_of(scene):
        return absent("the proxy looks the name up")
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as error:
        return broken(f"{host} is not found: {error.strerror or error}", "Check the address and the name service.")
    addresses = dict.fromkeys(str(address[0]) for *_, address in found)
    return fine(f"{host} is {', '.join(addresses)}")


def _connection(scene: Scene) -> Finding:
    place = _here(scene)
    if proxy_of(scene):
        return absent("the proxy connects")
    began = scene.ctx.monotonic()
    try:
        socket.create_connection((place.host, place.port), SECONDS).close()
    except OSError as error:
        why = error.strerror or str(error) or "no answer"
        return broken(f"port {place.port} of {place.host}: {why}", "Is the server running, and the port right?")
    return fine(f"port {place.port} answers after {(scene.ctx.monotonic() - began) * 1000:.0f} ms")


def _certificate(scene: Scene) -> Finding:
    place = _here(scene)
    if proxy_of(scene):
        return absent("the proxy stands before it")
    return certificate(scene, place)


def certificate(scene: Scene, place: Place) -> Finding:
    """How long the certificate at ``place`` is good, judged as the client of the API judges it."""
    if place.scheme != "https":
        return absent("plain http has none")
    from certifi import where

    from docshare.cli.local.settings import find

    context = ssl.create_default_context(cafile=find(scene.ctx, "ca_bundle").value or where())
    try:
        with (
            socket.create_connection((place.host, place.port), SECONDS) as plain,
            context.wrap_socket(plain, server_hostname=place.host) as secured,
        ):
            shown = secured.getpeercert() or {}
    except ssl.SSLCertVerificationError as error:
        return broken(f"not trusted: {error.verify_message}", "Renew it, or name its authority with --ca-bundle.")
    except OSError as error:
        return broken(f"no TLS: {error.strerror or error}", "Does https end at this port?")
    return _judge_end(ssl.cert_time_to_seconds(str(shown["notAfter"])) - scene.ctx.now() / 1000)


def _judge_end(left_s: float) -> Finding:
    words = f"good for {left_s / _DAY_S:.0f} days"
    fix = "Renew it; look why that did not happen by itself."
    if left_s < _LAST_DAYS * _DAY_S:
        return broken(words, fix)
    return doubtful(words, fix) if left_s < _FEW_DAYS * _DAY_S else fine(words)


def _api(scene: Scene) -> Finding:
    answer = scene.get(_url(scene, ""))
    fix = "Is this the base URL of a docshare server?"
    if 300 <= answer.status_code < 400:
        return broken(f"redirects to {answer.headers.get('Location')}", "Use that address; is it https?")
    about = _object(answer)
    if answer.status_code != 200 or not about:
        return broken(f"answered with status {answer.status_code} and no API", fix)
    words = f"{about.get('name', 'a server')} {about.get('version', '')}".strip()
    if "X-Docshare-Dev" in answer.headers:
        return doubtful(f"{words}, started for development", "Start it without --dev where others reach it.")
    return fine(words)


def _clock(scene: Scene) -> Finding:
    answer = scene.get(_url(scene, ""))
    return clocks(answer.headers, scene.ctx.now(), _CLOCK_FIX)


def clocks(headers: Mapping[str, str], at: int, fix: str) -> Finding:
    """How far the clock that wrote the date in ``headers`` is from that of this machine, which said ``at`` (ms)."""
    from docshare.client.pacing import read_date

    told = read_date(headers)
    if told is None:
        return absent("the answer has no date")
    apart = abs(told - at / 1000)
    words = f"the clocks differ by {apart:.0f} s"
    if apart > _SIGNATURES_FAIL_S:
        return broken(f"{words}: signatures of webhooks look too old", fix)
    return doubtful(words, fix) if apart > _CLOCKS_DIFFER_S else fine(words)


def _credential(scene: Scene) -> Finding:
    connection = scene.ctx.connection
    if connection.token is None:
        return absent("there is none")
    answer = scene.get(_url(scene, "/user"), with_token=True)
    problem, account = _problem(answer), _object(answer)
    if answer.status_code == 200 and "tier" in account:
        for key, mask in _PRIVATE.items():
            scene.hide(account.get(key), mask)
        return fine(f"{account.get('email')}, plan {account.get('tier')}")
    if problem.get("code") == "insufficient_scope":
        return fine("it is accepted, and may not know the account")
    if answer.status_code == 401:
        return broken(f"refused, from {connection.source}", "Sign in again: docshare auth login")
    if answer.status_code == 200:
        return broken("the server takes it and names no account", "Is this the base URL of a docshare server?")
    words = f"answered with status {answer.status_code}: {problem.get('detail', '')}"
    return broken(words, str(problem.get("hint") or "Try again; look into the log of the server."))


def _scopes(scene: Scene) -> Finding:
    if scene.ctx.connection.token is None:
        return absent("there is no credential")
    held: list[str] = []
    lacking: list[str] = []
    untold: list[str] = []
    for scope, path in _PROBES.items():
        answer = scene.get(_url(scene, path), with_token=True)
        if _problem(answer).get("code") == "insufficient_scope":
            lacking.append(scope)
        else:
            # What is refused for another reason, such as the plan, was let through by its scope.
            (held if answer.status_code in (200, 403) else untold).append(scope)
    if untold:
        return doubtful(f"the server does not tell about {', '.join(untold)}", "Try again; look into its log.")
    words = f"{', '.join(held) or 'none'}; what writes was not tried"
    return fine(f"{words}; lacks {', '.join(lacking)}" if lacking else words)


def _rate_limit(scene: Scene) -> Finding:
    if scene.ctx.connection.token is None:
        return absent("there is no credential")
    from docshare.client.pacing import read_budget

    answer = scene.get(_url(scene, "/user"), with_token=True)
    budget = read_budget(answer.headers, scene.ctx.now() / 1000)
    if budget is None:
        return doubtful("the answer names no rate limit", "A proxy may strip the RateLimit headers; let them through.")
    words = f"{budget.remaining} of {budget.limit} requests left"
    if budget.remaining * 5 < budget.limit:
        return doubtful(words, "Something else uses the same credential; give each program one of its own.")
    return fine(words)


def _url(scene: Scene, path: str) -> str:
    return f"{str(scene.ctx.connection.url.value).rstrip('/')}{_API}{path}"


def _problem(answer: Answer) -> dict[str, Any]:
    return _object(answer) if answer.status_code >= 400 else {}


def _object(answer: Answer) -> dict[str, Any]:
    """The JSON object of an answer; empty if it is none."""
    try:
        document = answer.json()
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


SERVER = (
    Check("name", _name, fix="The name service does not answer."),
    Check("connection", _connection, needs=("name",), fix="Nothing answers; a firewall may drop what is sent."),
    Check("certificate", _certificate, needs=("connection",)),
    Check("api", _api, needs=("connection",)),
    Check("clock", _clock, needs=("api",)),
    Check("credential", _credential, needs=("api",)),
    Check("scopes", _scopes, needs=("credential",)),
    Check("rate-limit", _rate_limit, needs=("credential",)),
)
