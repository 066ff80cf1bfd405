"""``docshare doctor``, group "public": the server of this machine as its readers reach it: through name service,
TLS and whatever stands before it. The server writes down how a few requests with a token of its own making arrive.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from docshare.cli.commands.doctor.checks import TIMEOUT_S, CheckContext, NamedFindings
from docshare.cli.commands.doctor.server import compare_clocks, inspect_certificate, parse_endpoint
from docshare.cli.terminal.text import format_size
from docshare.client.address import is_loopback, origin_of
from docshare.contract.findings import Finding, absent, broken, doubtful, fine

if TYPE_CHECKING:
    import requests

    from docshare.cli.framework.admin_channel import Owner, RunningServer

_MB = 1024 * 1024
_PROBE_SIZES = (2 * _MB, 11 * _MB, 101 * _MB, 501 * _MB)
"""Just beyond what proxies allow unless told otherwise."""
_ZERO_BLOCK = b"\0" * (256 * 1024)
_BODY_TIMEOUT_S = 120.0
_PROBE_ADDRESS = "203.0.113.77"  # set aside for documentation, so nobody's
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


class ProbeResult(NamedTuple):
    """``answer``: what the public address said, and when (``at``, ms); ``arrived``: how that request got to the server,
    None if it did not; ``passed``: the largest body that got through; ``refused``: the first that did not, and why.
    """

    owner: "Owner"
    answer: "requests.Response"
    at: int
    arrived: dict[str, Any] | None
    passed: int
    refused: tuple[int, str] | None


def send_probe(scene: CheckContext, server: "RunningServer") -> ProbeResult:
    """Send the requests of one probe. Raises TransportError where the public address does not answer, and Problem."""
    owner = server.owner
    token = server.tell("probe start", {})["token"]
    scene.ctx.secrets.add(token)
    address = f"{owner.base_url}/healthz?probe={token}"
    with scene.session() as http:
        http.trust_env = False  # a proxy of the way out says nothing about the way in
        answer, at = _get(http, address, owner.base_url), scene.ctx.now()
        refused = _find_refused_size(http, address, scene.body) if answer.status_code == 200 else None
    sightings = server.tell("probe end", {"token": token})
    arrived = next((sighting for sighting in sightings if sighting["method"] == "GET"), None)
    passed = max((sighting["size"] for sighting in sightings), default=0)
    return ProbeResult(owner, answer, at, arrived, passed, refused)


def estimate_probe_seconds(body: int) -> float:
    """How long ``seen`` may take with bodies of up to ``body`` bytes."""
    return 2 * TIMEOUT_S + (body / _MB if body > _PROBE_SIZES[0] else TIMEOUT_S)


def _get(http: "requests.Session", address: str, origin: str) -> "requests.Response":
    import requests

    from docshare.client.failures import translated
    from docshare.client.retries import Call

    try:
        with http.get(address, headers=_PROBE_HEADERS, timeout=TIMEOUT_S, allow_redirects=False, stream=True) as answer:
            return answer  # what it has for a body is of no interest
    except requests.RequestException as error:
        raise translated(error, Call("GET", ""), origin) from error


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
    """A body of so many bytes that never stands in memory."""

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
    """What the requests of a probe showed."""
    yield "reach", _check_reach(seen)
    if seen.arrived is not None:
        yield "readers", _check_readers(seen.owner, seen.arrived)
        yield "host", _check_host(seen.owner, seen.arrived)
        yield "headers", _check_headers(seen.arrived)
        yield "body", _check_body(seen)
        yield (
            "clock",
            compare_clocks(seen.answer.headers, seen.at, "Set the clocks of the proxy and of this machine by NTP."),
        )


def check_address(owner: "Owner") -> Finding:
    """The public address as such."""
    base = parse_endpoint(owner.base_url)
    if is_loopback(base.host):
        if owner.host and not is_loopback(owner.host):
            return doubtful(
                f"the server listens on {owner.host}, but its links begin with {owner.base_url}",
                "Set DOCSHARE_BASE_URL to the address that readers use.",
            )
        return fine(f"links begin with {owner.base_url} and work on this machine only")
    if base.scheme == "http":
        return doubtful(
            f"links begin with {owner.base_url}: what readers see travels unencrypted",
            "Put a proxy with TLS before the server and set DOCSHARE_BASE_URL=https://...",
        )
    return fine(f"links begin with {owner.base_url}")


def check_public_certificate(scene: CheckContext, owner: "Owner") -> Finding:
    """The certificate that readers are shown."""
    return inspect_certificate(scene, parse_endpoint(owner.base_url))


def _check_reach(seen: ProbeResult) -> Finding:
    owner, status = seen.owner, seen.answer.status_code
    if seen.arrived is not None:
        return fine(f"{owner.base_url} leads to this server")
    if 300 <= status < 400:
        target = origin_of(seen.answer.headers.get("Location", ""))
        return broken(f"{owner.base_url} redirects to {target or 'elsewhere'}", f"Set DOCSHARE_BASE_URL={target}")
    if status >= 500:
        detail = f"what stands before the server answers {status}: it does not reach this server"
        return broken(detail, f"Let it pass requests on to {owner.url}")
    return broken(
        f"another server answers at {owner.base_url} (status {status})",
        f"Let that address lead to {owner.url}, or set DOCSHARE_BASE_URL to the address of this server.",
    )


def _check_readers(owner: "Owner", arrived: dict[str, Any]) -> Finding:
    """Whether the server learns who reads: the limits per address and the readership depend on it."""
    peer, claimed, trusted = arrived["peer"], arrived["forwardedFor"], arrived["trusted"]
    trust = f"DOCSHARE_TRUSTED_PROXIES={peer}/{128 if ':' in peer else 32}"
    untouched = claimed == _PROBE_ADDRESS
    if untouched and _has_no_proxy(owner):
        if trusted:
            detail = f"{peer} is trusted, but no proxy stands there: whoever calls from it can claim any address"
            return doubtful(detail, "Leave DOCSHARE_TRUSTED_PROXIES unset.")
        return fine(f"no proxy stands between; this machine was seen as {arrived['client']}")
    if untouched and trusted:
        return broken(f"readers can claim any address: the proxy at {peer} passes on what they say", _FORWARDED_FOR_FIX)
    if untouched or claimed is None:
        fix = _FORWARDED_FOR_FIX if trusted else f"{_FORWARDED_FOR_FIX} then set {trust}"
        return broken(f"all readers seem to come from {peer}: the proxy there does not say for whom it asks", fix)
    if not trusted:
        detail = f"all readers seem to come from {peer}: the proxy there is not trusted"
        return broken(detail, f"Set {trust} (and what it names already), then restart the server.")
    return fine(f"the addresses of readers arrive; this machine was seen as {arrived['client']}")


def _has_no_proxy(owner: "Owner") -> bool:
    """Whether the public address is the server's own port: proxies listen on another one."""
    base, own = parse_endpoint(owner.base_url), parse_endpoint(owner.url)
    return (base.scheme, base.port) == (own.scheme, own.port)


def _check_host(owner: "Owner", arrived: dict[str, Any]) -> Finding:
    wanted = urlsplit(owner.base_url).netloc
    if str(arrived["host"]).lower() != wanted:
        return doubtful(f"the proxy asks for the host {arrived['host']} instead of {wanted}", _HOST_FIX)
    return fine("the name of the host arrives")


def _check_headers(arrived: dict[str, Any]) -> Finding:
    lost = [name for name in _WATCHED_HEADERS if name not in arrived["arrived"]]
    words = f"the proxy takes {', '.join(lost)} out of requests"
    fix = f"Let it pass on {', '.join(lost)}."
    if "Authorization" in lost or "Cookie" in lost:
        return broken(f"{words}: nobody can sign in", fix)
    return doubtful(f"{words}: downloads cannot resume", fix) if lost else fine("the headers of requests arrive")


def _check_body(seen: ProbeResult) -> Finding:
    if seen.refused is None:
        return fine(f"uploads of {format_size(seen.passed)} get through")
    size, said = seen.refused
    return broken(f"an upload of {format_size(size)} does not get through ({said})", _BODY_SIZE_FIX)


def report_no_server() -> NamedFindings:
    """What is said where no server of this machine runs."""
    yield "address", absent("no server of this machine runs; --data DIR names one")
