"""``docshare doctor``, group "public": the server of this machine as its readers reach it: through name service,
TLS and whatever stands before it. The server writes down how a few requests with a token of its own making arrive.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from docshare.cli.commands.doctor.checks import SECONDS, Found, Scene
from docshare.cli.commands.doctor.server import certificate, clocks, place_of
from docshare.cli.terminal.text import human_size
from docshare.client.address import is_loopback, origin_of
from docshare.contract.findings import Finding, absent, broken, doubtful, fine

if TYPE_CHECKING:
    import requests

    from docshare.cli.framework.admin_channel import Owner, RunningServer

_MB = 1024 * 1024
_STEPS = (2 * _MB, 11 * _MB, 101 * _MB, 501 * _MB)
"""Just beyond what proxies allow unless told otherwise."""
_BLOCK = b"\0" * (256 * 1024)
_BODY_SECONDS = 120.0
_CLAIMED = "203.0.113.77"  # set aside for documentation, so nobody's
_MARKS = {
    "X-Forwarded-For": _CLAIMED,
    "Authorization": "Bearer probe",
    "Cookie": "probe=1",
    "If-None-Match": '"probe"',
    "Range": "bytes=0-0",
}
_WATCHED = ("Authorization", "Cookie", "If-None-Match", "Range")
_SAY_FOR_WHOM = "nginx: proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;"
_SAY_HOST = "nginx: proxy_set_header Host $http_host; Apache: ProxyPreserveHost On"
_TAKE_MORE = "nginx: client_max_body_size 2100m; a hosted proxy may need another plan."


class Seen(NamedTuple):
    """``answer``: what the public address said, and when (``at``, ms); ``arrived``: how that request got to the server,
    None if it did not; ``passed``: the largest body that got through; ``refused``: the first that did not, and why.
    """

    owner: "Owner"
    answer: "requests.Response"
    at: int
    arrived: dict[str, Any] | None
    passed: int
    refused: tuple[int, str] | None


def seen(scene: Scene, server: "RunningServer") -> Seen:
    """Send the requests of one probe. Raises TransportError where the public address does not answer, and Problem."""
    owner = server.owner
    token = server.tell("probe start", {})["token"]
    scene.ctx.secrets.add(token)
    address = f"{owner.base_url}/healthz?probe={token}"
    with scene.session() as http:
        http.trust_env = False  # a proxy of the way out says nothing about the way in
        answer, at = _get(http, address, owner.base_url), scene.ctx.now()
        refused = _first_refused(http, address, scene.body) if answer.status_code == 200 else None
    sightings = server.tell("probe end", {"token": token})
    arrived = next((sighting for sighting in sightings if sighting["method"] == "GET"), None)
    passed = max((sighting["size"] for sighting in sightings), default=0)
    return Seen(owner, answer, at, arrived, passed, refused)


def seconds_for(body: int) -> float:
    """How long ``seen`` may take with bodies of up to ``body`` bytes."""
    return 2 * SECONDS + (body / _MB if body > _STEPS[0] else SECONDS)


def _get(http: "requests.Session", address: str, origin: str) -> "requests.Response":
    import requests

    from docshare.client.failures import translated
    from docshare.client.retries import Call

    try:
        with http.get(address, headers=_MARKS, timeout=SECONDS, allow_redirects=False, stream=True) as answer:
            return answer  # what it has for a body is of no interest
    except requests.RequestException as error:
        raise translated(error, Call("GET", ""), origin) from error


def _first_refused(http: "requests.Session", address: str, most: int) -> tuple[int, str] | None:
    import requests

    for size in (*(step for step in _STEPS if step < most), most):
        try:
            answer = http.post(
                address, data=_Zeros(size), timeout=(SECONDS, _BODY_SECONDS), allow_redirects=False, stream=True
            )
        except requests.RequestException:
            return size, "the connection was closed"
        answer.close()
        if answer.status_code != 200:
            return size, f"status {answer.status_code}"
    return None


class _Zeros:
    """A body of so many bytes that never stands in memory."""

    def __init__(self, size: int) -> None:
        self._size = size

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[bytes]:
        left = self._size
        while left > 0:
            yield _BLOCK[:left]
            left -= len(_BLOCK)


def judged(seen: Seen) -> Found:
    """What the requests of a probe showed."""
    yield "reach", _reach(seen)
    if seen.arrived is not None:
        yield "readers", _readers(seen.owner, seen.arrived)
        yield "host", _host(seen.owner, seen.arrived)
        yield "headers", _headers(seen.arrived)
        yield "body", _body(seen)
        yield "clock", clocks(seen.answer.headers, seen.at, "Set the clocks of the proxy and of this machine by NTP.")


def address(owner: "Owner") -> Finding:
    """The public address as such."""
    base = place_of(owner.base_url)
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


def public_certificate(scene: Scene, owner: "Owner") -> Finding:
    """The certificate that readers are shown."""
    return certificate(scene, place_of(owner.base_url))


def _reach(seen: Seen) -> Finding:
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


def _readers(owner: "Owner", arrived: dict[str, Any]) -> Finding:
    """Whether the server learns who reads: the limits per address and the readership depend on it."""
    peer, claimed, trusted = arrived["peer"], arrived["forwardedFor"], arrived["trusted"]
    trust = f"DOCSHARE_TRUSTED_PROXIES={peer}/{128 if ':' in peer else 32}"
    untouched = claimed == _CLAIMED
    if untouched and _nothing_between(owner):
        if trusted:
            detail = f"{peer} is trusted, but no proxy stands there: whoever calls from it can claim any address"
            return doubtful(detail, "Leave DOCSHARE_TRUSTED_PROXIES unset.")
        return fine(f"no proxy stands between; this machine was seen as {arrived['client']}")
    if untouched and trusted:
        return broken(f"readers can claim any address: the proxy at {peer} passes on what they say", _SAY_FOR_WHOM)
    if untouched or claimed is None:
        fix = _SAY_FOR_WHOM if trusted else f"{_SAY_FOR_WHOM} then set {trust}"
        return broken(f"all readers seem to come from {peer}: the proxy there does not say for whom it asks", fix)
    if not trusted:
        detail = f"all readers seem to come from {peer}: the proxy there is not trusted"
        return broken(detail, f"Set {trust} (and what it names already), then restart the server.")
    return fine(f"the addresses of readers arrive; this machine was seen as {arrived['client']}")


def _nothing_between(owner: "Owner") -> bool:
    """Whether the public address is the server's own port: proxies listen on another one."""
    base, own = place_of(owner.base_url), place_of(owner.url)
    return (base.scheme, base.port) == (own.scheme, own.port)


def _host(owner: "Owner", arrived: dict[str, Any]) -> Finding:
    wanted = urlsplit(owner.base_url).netloc
    if str(arrived["host"]).lower() != wanted:
        return doubtful(f"the proxy asks for the host {arrived['host']} instead of {wanted}", _SAY_HOST)
    return fine("the name of the host arrives")


def _headers(arrived: dict[str, Any]) -> Finding:
    lost = [name for name in _WATCHED if name not in arrived["arrived"]]
    words = f"the proxy takes {', '.join(lost)} out of requests"
    fix = f"Let it pass on {', '.join(lost)}."
    if "Authorization" in lost or "Cookie" in lost:
        return broken(f"{words}: nobody can sign in", fix)
    return doubtful(f"{words}: downloads cannot resume", fix) if lost else fine("the headers of requests arrive")


def _body(seen: Seen) -> Finding:
    if seen.refused is None:
        return fine(f"uploads of {human_size(seen.passed)} get through")
    size, said = seen.refused
    return broken(f"an upload of {human_size(size)} does not get through ({said})", _TAKE_MORE)


def nothing() -> Found:
    """What is said where no server of this machine runs."""
    yield "address", absent("no server of this machine runs; --data DIR names one")
