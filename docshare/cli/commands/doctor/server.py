"""``docshare doctor``, group "server": check the connection to the current server and the credential."""

import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from docshare.cli.commands.doctor.checks import TIMEOUT_S, CheckContext, DoctorCheck, ProbeResponse
from docshare.cli.commands.doctor.program import find_proxy
from docshare.cli.local.accounts import remember_account
from docshare.cli.local.settings import resolve_setting
from docshare.client.address import is_loopback
from docshare.client.http.rate_limits import read_budget, read_date
from docshare.client.http.tls import is_plain_http
from docshare.contract.findings import (
    DiagnosticFinding,
    error_finding,
    passed_finding,
    skipped_finding,
    warning_finding,
)
from docshare.contract.scopes import FILES_READ, PROFILE, READERSHIP_READ, WEBHOOKS_MANAGE

_DAY_S = 86_400
_WARN_DAYS, _FAIL_DAYS = 14, 3
_WARN_SKEW_S, _FAIL_SKEW_S = 60, 300
_MASK_BY_KEY = {"email": "<email>", "name": "<name>", "uuid": "<uuid>"}
_PORTS = {"http": 80, "https": 443}
_PLAIN_HTTP = "this port serves plain http, which has no certificate"
_API = "/api/v1"
_CLOCK_FIX = "Synchronize the clocks of this machine and of the server by NTP."
# A read request shows whether the credential has a scope. Write scopes are not tested.
_PROBES = {
    FILES_READ: "/files",
    READERSHIP_READ: "/events?limit=1",
    WEBHOOKS_MANAGE: "/webhooks",
    PROFILE: "/user",
}


@dataclass(frozen=True)
class Endpoint:
    """The address of a server."""

    scheme: str
    host: str
    port: int


def parse_endpoint(url: str) -> Endpoint:
    """Return the endpoint of an http or https URL."""
    parts = urlsplit(url)
    return Endpoint(parts.scheme, parts.hostname or "", parts.port or _PORTS[parts.scheme])


def _find_endpoint(check_context: CheckContext) -> Endpoint:
    place = parse_endpoint(str(check_context.ctx.connection.url.value))
    hide_host(check_context, place)
    return place


def hide_host(check_context: CheckContext, place: Endpoint) -> None:
    """Mask the host in bug reports, unless it is this machine."""
    if not is_loopback(place.host):
        check_context.mask(place.host, "<host>")


def _check_name(check_context: CheckContext) -> DiagnosticFinding:
    host = _find_endpoint(check_context).host
    if find_proxy(check_context):
        return skipped_finding("the proxy resolves the name")
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as error:
        return error_finding(f"{host} cannot be resolved: {error.strerror or error}", "Check the address and DNS.")
    addresses = dict.fromkeys(str(address[0]) for *_, address in found)
    return passed_finding(f"{host} resolves to {', '.join(addresses)}")


def _check_connection(check_context: CheckContext) -> DiagnosticFinding:
    place = _find_endpoint(check_context)
    if find_proxy(check_context):
        return skipped_finding("the proxy connects")
    began = check_context.ctx.monotonic()
    try:
        socket.create_connection((place.host, place.port), TIMEOUT_S).close()
    except OSError as error:
        why = error.strerror or str(error) or "no response"
        return error_finding(
            f"port {place.port} of {place.host}: {why}", "Check that the server is running and the port is correct."
        )
    return passed_finding(f"port {place.port} responds after {(check_context.ctx.monotonic() - began) * 1000:.0f} ms")


def _check_certificate(check_context: CheckContext) -> DiagnosticFinding:
    place = _find_endpoint(check_context)
    if find_proxy(check_context):
        return skipped_finding("the proxy connects")
    finding = inspect_certificate(check_context, place)
    # The check of the API reports this error, because the client finds it as well.
    return skipped_finding(finding.detail) if finding.detail == _PLAIN_HTTP else finding


def inspect_certificate(check_context: CheckContext, place: Endpoint) -> DiagnosticFinding:
    """Check the validity of the certificate at ``place`` with the trust settings of the API client."""
    if place.scheme != "https":
        return skipped_finding("plain http has no certificate")
    from certifi import where

    context = ssl.create_default_context(cafile=resolve_setting(check_context.ctx, "ca_bundle").value or where())
    try:
        with (
            socket.create_connection((place.host, place.port), TIMEOUT_S) as plain,
            context.wrap_socket(plain, server_hostname=place.host) as secured,
        ):
            certificate = secured.getpeercert() or {}
    except ssl.SSLCertVerificationError as error:
        return error_finding(
            f"not trusted: {error.verify_message}", "Renew it, or trust its authority with --ca-bundle."
        )
    except OSError as error:
        if is_plain_http(error):
            return error_finding(_PLAIN_HTTP, "Use http://, or the port that serves TLS.")
        reason = (getattr(error, "reason", None) or "").replace("_", " ").lower()
        return error_finding(f"no TLS: {reason or error.strerror or error}", "Check that this port serves https.")
    return _check_expiry(ssl.cert_time_to_seconds(str(certificate["notAfter"])) - check_context.ctx.now() / 1000)


def _check_expiry(left_s: float) -> DiagnosticFinding:
    words = f"valid for {left_s / _DAY_S:.0f} days"
    fix = "Renew it, and check why automatic renewal failed."
    if left_s < _FAIL_DAYS * _DAY_S:
        return error_finding(words, fix)
    return warning_finding(words, fix) if left_s < _WARN_DAYS * _DAY_S else passed_finding(words)


def _check_api(check_context: CheckContext) -> DiagnosticFinding:
    answer = check_context.get(_build_url(check_context, ""))
    fix = "Check that the URL is the base URL of a docshare server."
    if 300 <= answer.status_code < 400:
        return error_finding(
            f"redirects to {answer.headers.get('Location')}", "Use that address, preferably with https."
        )
    about = _parse_object(answer)
    if answer.status_code != 200 or not about:
        return error_finding(f"responded with status {answer.status_code}, which is not a docshare API", fix)
    words = f"{about.get('name', 'a server')} {about.get('version', '')}".strip()
    if "X-Docshare-Dev" in answer.headers:
        return warning_finding(f"{words}, running in development mode", "Do not use --dev on a public server.")
    return passed_finding(words)


def _check_clock(check_context: CheckContext) -> DiagnosticFinding:
    answer = check_context.get(_build_url(check_context, ""))
    return compare_clocks(answer.headers, check_context.ctx.now(), _CLOCK_FIX)


def compare_clocks(headers: Mapping[str, str], at: int, fix: str) -> DiagnosticFinding:
    """Compare the date in ``headers`` to ``at``, the time of this machine in ms."""
    date = read_date(headers)
    if date is None:
        return skipped_finding("the response has no date")
    apart = abs(date - at / 1000)
    words = f"the clocks differ by {apart:.0f} s"
    if apart > _FAIL_SKEW_S:
        return error_finding(f"{words}; webhook signatures look too old", fix)
    return warning_finding(words, fix) if apart > _WARN_SKEW_S else passed_finding(words)


def _check_credential(check_context: CheckContext) -> DiagnosticFinding:
    connection = check_context.ctx.connection
    if connection.token is None:
        return skipped_finding("no credential")
    answer = check_context.get(_build_url(check_context, "/user"), with_token=True)
    problem, account = _read_problem(answer), _parse_object(answer)
    if answer.status_code == 200 and "tier" in account:
        for key, mask in _MASK_BY_KEY.items():
            check_context.mask(account.get(key), mask)
        remember_account(check_context.ctx, connection.origin, connection.token, account)
        return passed_finding(f"{account.get('email')}, plan {account.get('tier')}")
    if problem.get("code") == "insufficient_scope":
        return passed_finding("the credential is valid but lacks the profile scope")
    if answer.status_code == 401:
        return error_finding(f"rejected, from {connection.source}", "Log in again: docshare auth login")
    if answer.status_code == 200:
        return error_finding(
            "the server accepts the credential but returns no account",
            "Check that the URL is the base URL of a docshare server.",
        )
    words = f"responded with status {answer.status_code}: {problem.get('detail', '')}"
    return error_finding(words, str(problem.get("hint") or "Try again, and see the log of the server."))


def _check_scopes(check_context: CheckContext) -> DiagnosticFinding:
    if check_context.ctx.connection.token is None:
        return skipped_finding("no credential")
    held: list[str] = []
    lacking: list[str] = []
    untold: list[str] = []
    for scope, path in _PROBES.items():
        answer = check_context.get(_build_url(check_context, path), with_token=True)
        if _read_problem(answer).get("code") == "insufficient_scope":
            lacking.append(scope)
        else:
            # A request that is rejected for another reason, such as the plan, has passed the scope check.
            (held if answer.status_code in (200, 403) else untold).append(scope)
    if untold:
        return warning_finding(f"the server does not report {', '.join(untold)}", "Try again, and see its log.")
    words = f"{', '.join(held) or 'none'}; write scopes were not tested"
    return passed_finding(f"{words}; lacks {', '.join(lacking)}" if lacking else words)


def _check_rate_limit(check_context: CheckContext) -> DiagnosticFinding:
    if check_context.ctx.connection.token is None:
        return skipped_finding("no credential")
    answer = check_context.get(_build_url(check_context, "/user"), with_token=True)
    budget = read_budget(answer.headers, check_context.ctx.now() / 1000)
    if budget is None:
        return warning_finding(
            "the response has no rate limit", "A proxy may remove the RateLimit headers; configure it to forward them."
        )
    words = f"{budget.remaining} of {budget.limit} requests left"
    if budget.remaining * 5 < budget.limit:
        return warning_finding(
            words, "Another program uses the same credential; create a separate one for each program."
        )
    return passed_finding(words)


def _build_url(check_context: CheckContext, path: str) -> str:
    return f"{str(check_context.ctx.connection.url.value).rstrip('/')}{_API}{path}"


def _read_problem(answer: ProbeResponse) -> dict[str, Any]:
    return _parse_object(answer) if answer.status_code >= 400 else {}


def _parse_object(answer: ProbeResponse) -> dict[str, Any]:
    """Return the JSON object of a response, or an empty one if it is not an object."""
    try:
        document = answer.json()
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


SERVER_CHECKS = (
    DoctorCheck("name", _check_name, fix="DNS does not respond."),
    DoctorCheck(
        "connection", _check_connection, needs=("name",), fix="There is no response; a firewall may drop packets."
    ),
    DoctorCheck("certificate", _check_certificate, needs=("connection",)),
    DoctorCheck("api", _check_api, needs=("connection",)),
    DoctorCheck("clock", _check_clock, needs=("api",)),
    DoctorCheck("credential", _check_credential, needs=("api",)),
    DoctorCheck("scopes", _check_scopes, needs=("credential",)),
    DoctorCheck("rate-limit", _check_rate_limit, needs=("credential",)),
)
