"""``docshare doctor``, group "public": check the public address of the server on this machine: DNS, TLS and proxies.

The server records how a few requests with a token that it created arrive.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from docshare.cli.commands.doctor.checks import TIMEOUT_S, CheckContext, NamedFindings
from docshare.cli.commands.doctor.server import compare_clocks, inspect_certificate, parse_endpoint
from docshare.client.address import is_loopback, parse_origin
from docshare.client.http.call import Call
from docshare.client.http.failures import translate_error
from docshare.contract.amounts import format_size
from docshare.contract.findings import (
    DiagnosticFinding,
    error_finding,
    passed_finding,
    skipped_finding,
    warning_finding,
)

if TYPE_CHECKING:
    import requests

    from docshare.cli.framework.admin_channel import RunningServer
    from docshare.server.instance import DirectoryOwner

_MB = 1024 * 1024
_PROBE_SIZES = (2 * _MB, 11 * _MB, 101 * _MB, 501 * _MB)
"""Just above common default limits of proxies."""
_ZERO_BLOCK = b"\0" * (256 * 1024)
_BODY_TIMEOUT_S = 120.0
_PROBE_ADDRESS = "203.0.113.77"  # reserved for documentation
_PROBE_HEADERS = {
    "X-Forwarded-For": _PROBE_ADDRESS,
    "Authorization": "Bearer probe",
    "Cookie": "probe=1",
    "If-None-Match": '"probe"',
    "Range": "bytes=0-0",
}
_WATCHED_HEADERS = ("Authorization", "Cookie", "If-None-Match", "Range")
_FORWARDED_FOR_FIX = "nginx: proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;"
_HOST_FIX = "nginx: proxy_set_header Host $http_host; Apache: ProxyPreserveHost On"
_BODY_SIZE_FIX = "nginx: client_max_body_size 2100m; a hosted proxy may need another plan."


@dataclass(frozen=True)
class ProbeResult:
    """``response`` is that of the public address at the time ``received_at`` (ms), ``arrived`` the request as the
    server received it or None, ``largest_accepted`` the largest body that arrived, ``first_rejected`` the first one
    that did not and why."""

    owner: "DirectoryOwner"
    response: "requests.Response"
    received_at: int
    arrived: dict[str, Any] | None
    largest_accepted: int
    first_rejected: tuple[int, str] | None


def send_probe(check_context: CheckContext, server: "RunningServer") -> ProbeResult:
    """Send the requests of a probe. Raise TransportError if the public address does not respond, and Problem."""
    owner = server.owner
    token = server.run_command("probe start", {})["token"]
    check_context.ctx.secrets.add(token)
    address = f"{owner.base_url}/healthz?probe={token}"
    with check_context.session() as http:
        http.trust_env = False  # outbound proxies are irrelevant for inbound requests
        answer, at = _get(http, address, owner.base_url), check_context.ctx.now()
        refused = _find_refused_size(http, address, check_context.body) if answer.status_code == 200 else None
    sightings = server.run_command("probe end", {"token": token})
    arrived = next((sighting for sighting in sightings if sighting["method"] == "GET"), None)
    passed = max((sighting["size"] for sighting in sightings), default=0)
    return ProbeResult(owner, answer, at, arrived, passed, refused)


def estimate_probe_seconds(body: int) -> float:
    """Return how long a probe with bodies of up to ``body`` bytes may take."""
    return 2 * TIMEOUT_S + (body / _MB if body > _PROBE_SIZES[0] else TIMEOUT_S)


def _get(http: "requests.Session", address: str, origin: str) -> "requests.Response":
    import requests

    try:
        with http.get(address, headers=_PROBE_HEADERS, timeout=TIMEOUT_S, allow_redirects=False, stream=True) as answer:
            return answer  # the body is not needed
    except requests.RequestException as error:
        raise translate_error(error, Call("GET", ""), origin) from error


def _find_refused_size(http: "requests.Session", address: str, most: int) -> tuple[int, str] | None:
    import requests

    for size in (*(step for step in _PROBE_SIZES if step < most), most):
        try:
            answer = http.post(
                address, data=_ZeroBody(size), timeout=(TIMEOUT_S, _BODY_TIMEOUT_S), allow_redirects=False, stream=True
            )
        except requests.RequestException:
            return size, "the connection was closed"
        answer.close()
        if answer.status_code != 200:
            return size, f"status {answer.status_code}"
    return None


class _ZeroBody:
    """A request body of ``size`` bytes, generated block by block."""

    def __init__(self, size: int) -> None:
        self._size = size

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[bytes]:
        left = self._size
        while left > 0:
            yield _ZERO_BLOCK[:left]
            left -= len(_ZERO_BLOCK)


def evaluate_probe(seen: ProbeResult) -> NamedFindings:
    """Evaluate the requests of a probe."""
    yield "reach", _check_reach(seen)
    if seen.arrived is not None:
        yield "readers", _check_readers(seen.owner, seen.arrived)
        yield "host", _check_host(seen.owner, seen.arrived)
        yield "headers", _check_headers(seen.arrived)
        yield "body", _check_body(seen)
        yield (
            "clock",
            compare_clocks(
                seen.response.headers, seen.received_at, "Set the clocks of the proxy and of this machine by NTP."
            ),
        )


def check_address(owner: "DirectoryOwner") -> DiagnosticFinding:
    """Check the public address itself."""
    base = parse_endpoint(owner.base_url)
    if is_loopback(base.host):
        if owner.host and not is_loopback(owner.host):
            return warning_finding(
                f"the server listens on {owner.host}, but its links start with {owner.base_url}",
                "Set DOCSHARE_BASE_URL to the address that readers use.",
            )
        return passed_finding(f"links start with {owner.base_url} and work only on this machine")
    if base.scheme == "http":
        return warning_finding(
            f"links start with {owner.base_url}: documents are sent unencrypted",
            "Put a TLS proxy in front of the server and set DOCSHARE_BASE_URL=https://...",
        )
    return passed_finding(f"links start with {owner.base_url}")


def check_public_certificate(check_context: CheckContext, owner: "DirectoryOwner") -> DiagnosticFinding:
    """Check the certificate of the public address."""
    return inspect_certificate(check_context, parse_endpoint(owner.base_url))


def _check_reach(seen: ProbeResult) -> DiagnosticFinding:
    owner, status = seen.owner, seen.response.status_code
    if seen.arrived is not None:
        return passed_finding(f"{owner.base_url} leads to this server")
    if 300 <= status < 400:
        target = parse_origin(seen.response.headers.get("Location", ""))
        return error_finding(
            f"{owner.base_url} redirects to {target or 'elsewhere'}", f"Set DOCSHARE_BASE_URL={target}"
        )
    if status >= 500:
        detail = f"the proxy responds with {status}; it does not reach this server"
        return error_finding(detail, f"Forward requests to {owner.url}")
    return error_finding(
        f"another server responds at {owner.base_url} (status {status})",
        f"Forward that address to {owner.url}, or set DOCSHARE_BASE_URL to the address of this server.",
    )


def _check_readers(owner: "DirectoryOwner", arrived: dict[str, Any]) -> DiagnosticFinding:
    """Check that the server sees the addresses of readers, which rate limits and the readership need."""
    peer, claimed, trusted = arrived["peer"], arrived["forwardedFor"], arrived["trusted"]
    trust = f"DOCSHARE_TRUSTED_PROXIES={peer}/{128 if ':' in peer else 32}"
    untouched = claimed == _PROBE_ADDRESS
    if untouched and _has_no_proxy(owner):
        if trusted:
            detail = f"{peer} is trusted but is not a proxy: requests from it can claim any address"
            return warning_finding(detail, "Unset DOCSHARE_TRUSTED_PROXIES.")
        return passed_finding(f"no proxy in between; the server sees this machine as {arrived['client']}")
    if untouched and trusted:
        return error_finding(
            f"readers can claim any address: the proxy at {peer} forwards their X-Forwarded-For", _FORWARDED_FOR_FIX
        )
    if untouched or claimed is None:
        fix = _FORWARDED_FOR_FIX if trusted else f"{_FORWARDED_FOR_FIX} then set {trust}"
        return error_finding(f"all readers appear as {peer}: the proxy there does not send X-Forwarded-For", fix)
    if not trusted:
        detail = f"all readers appear as {peer}: the proxy there is not trusted"
        return error_finding(detail, f"Set {trust} (plus existing values), then restart the server.")
    return passed_finding(f"addresses of readers arrive; the server sees this machine as {arrived['client']}")


def _has_no_proxy(owner: "DirectoryOwner") -> bool:
    """Return whether the public address has the port of the server; proxies listen on another one."""
    base, own = parse_endpoint(owner.base_url), parse_endpoint(owner.url)
    return (base.scheme, base.port) == (own.scheme, own.port)


def _check_host(owner: "DirectoryOwner", arrived: dict[str, Any]) -> DiagnosticFinding:
    wanted = urlsplit(owner.base_url).netloc
    if str(arrived["host"]).lower() != wanted:
        return warning_finding(f"the proxy sends the host {arrived['host']} instead of {wanted}", _HOST_FIX)
    return passed_finding("the host name arrives")


def _check_headers(arrived: dict[str, Any]) -> DiagnosticFinding:
    lost = [name for name in _WATCHED_HEADERS if name not in arrived["arrived"]]
    words = f"the proxy removes {', '.join(lost)} from requests"
    fix = f"Configure it to forward {', '.join(lost)}."
    if "Authorization" in lost or "Cookie" in lost:
        return error_finding(f"{words}; nobody can sign in", fix)
    return (
        warning_finding(f"{words}; downloads cannot resume", fix) if lost else passed_finding("request headers arrive")
    )


def _check_body(seen: ProbeResult) -> DiagnosticFinding:
    if seen.first_rejected is None:
        return passed_finding(f"uploads of {format_size(seen.largest_accepted)} succeed")
    size, reason = seen.first_rejected
    return error_finding(f"an upload of {format_size(size)} fails ({reason})", _BODY_SIZE_FIX)


def report_no_server() -> NamedFindings:
    """Report that no running server was found on this machine."""
    yield "address", skipped_finding("no running server was found on this machine; --data DIR names its data directory")
