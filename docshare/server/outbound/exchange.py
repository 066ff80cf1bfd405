"""One request to one host: the name is resolved once, all its addresses are checked, and the connection uses exactly
one of them, with the certificate of the name. No redirects, proxies, cookies or compression."""

import ipaddress
import queue
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPMessage, HTTPResponse
from pathlib import Path

from docshare.server.fair_slots import FairSlots
from docshare.server.outbound.addresses import Address, AddressPolicy
from docshare.server.outbound.failures import (
    AddressForbidden,
    OutboundError,
    OutboundRedirect,
    OutboundTimeout,
    TooLarge,
    translate_errors,
)
from docshare.server.outbound.targets import OutboundTarget
from docshare.server.outbound.watchdog import DeadlineWatchdog

Resolver = Callable[[str], Sequence[Address]]
"""Host name -> all its addresses; raises OSError or UnicodeError if there are none."""

_BLOCK_BYTES = 1 << 16
_CONNECT_TIMEOUT_S = 10.0  # per address
_MAX_INTERIM_RESPONSES = 20
_READ_TIMEOUT_S = 20.0  # without a byte: a dead connection must not occupy a thread until the deadline


@dataclass(frozen=True)
class OutboundRequest:
    """A request to send. ``headers`` must not contain Host, Content-Length, Connection or Accept-Encoding, which the
    client sets."""

    target: OutboundTarget
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None


class OutboundResponse:
    """The headers of a response, and its body while the exchange is open."""

    def __init__(self, response: HTTPResponse, watchdog: DeadlineWatchdog) -> None:
        self.status = response.status
        self.headers: HTTPMessage = response.headers
        self._response = response
        self._watchdog = watchdog

    def read_blocks(self, max_bytes: int) -> Iterator[bytes]:
        """Yield the body in blocks.

        Raises TooLarge as soon as it is known to exceed ``max_bytes`` bytes, and OutboundError if it ends early.
        """
        if (self._response.length or 0) > max_bytes:
            raise TooLarge(_describe_too_large(max_bytes))
        size = 0
        while block := self._read():
            size += len(block)
            if size > max_bytes:
                raise TooLarge(_describe_too_large(max_bytes))
            yield block
        if self._response.length:  # bytes that Content-Length announced are missing
            raise OutboundError("ended its answer early")

    def read_head(self, max_bytes: int) -> bytes:
        """Return the first ``max_bytes`` bytes of the body, or all if it is shorter."""
        found = bytearray()
        while len(found) < max_bytes and (block := self._read()):
            found += block
        return bytes(found[:max_bytes])

    def _read(self) -> bytes:
        with translate_errors(self._watchdog):
            # Not with read(): for a chunk with a negative size, it reads until the connection ends.
            return self._response.read1(_BLOCK_BYTES)


class OutboundClient:
    """Sends the requests of the server to other hosts. Thread-safe.

    A caller that waits for another host occupies a thread of the server, so it must hold a slot: one of
    ``transfer_slots`` to download, one of ``webhook_slots`` to test a webhook or to look up the host of a new one.

    Parameters: ``ca_bundle`` contains certificates to trust in addition to those of the system; ``transfers`` is the
    maximum number of concurrent downloads, and of downloads that wait for a slot; ``resolve`` looks up a host name.
    """

    def __init__(self, ca_bundle: Path | None = None, *, transfers: int = 4, resolve: Resolver | None = None) -> None:
        self.transfer_slots = FairSlots(transfers, transfers)
        self.webhook_slots = FairSlots()
        self.resolve = resolve or system_resolve
        self._ca_bundle = ca_bundle

    @contextmanager
    def exchange(
        self, request: OutboundRequest, permit: AddressPolicy, *, deadline_s: float
    ) -> Iterator[OutboundResponse]:
        """Send ``request`` and yield the response unless it is a redirect.

        Parameters: ``permit`` returns whether the server may connect to an address of the host; ``deadline_s`` is the
        time for the exchange, including the block, in seconds. Raises OutboundError: AddressForbidden,
        OutboundRedirect, OutboundTimeout and others.
        """
        watchdog = DeadlineWatchdog(deadline_s)
        with ExitStack() as resources:
            resources.callback(watchdog.release)
            with translate_errors(watchdog):
                sock = resources.enter_context(self._connect(request.target, permit, watchdog))
                response = resources.enter_context(_send_request(request, sock))
            if 300 <= response.status < 400:
                raise OutboundRedirect(response.status)
            yield OutboundResponse(response, watchdog)

    def vet(self, target: OutboundTarget, permit: AddressPolicy, *, deadline_s: float) -> None:
        """Resolve the host of ``target`` and check its addresses as ``exchange`` does, without connecting.

        Raises OutboundError: AddressForbidden, OutboundTimeout and others.
        """
        watchdog = DeadlineWatchdog(deadline_s)
        try:
            with translate_errors(watchdog):
                self._resolve_permitted(target.host, permit, watchdog)
        finally:
            watchdog.release()

    @cached_property
    def _tls_context(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        # Some builds of Python accept the end of a connection without the closing message of TLS.
        context.options &= ~getattr(ssl, "OP_IGNORE_UNEXPECTED_EOF", 0)  # OpenSSL before 3 has no such option
        if self._ca_bundle is not None:
            context.load_verify_locations(self._ca_bundle)
        return context

    def _connect(self, target: OutboundTarget, permit: AddressPolicy, watchdog: DeadlineWatchdog) -> socket.socket:
        """Return a connection to the host, with TLS if the scheme requires it."""
        sock = _connect_first(self._resolve_permitted(target.host, permit, watchdog), target.port, watchdog)
        try:
            if target.scheme == "https":
                # An end without the closing message of TLS is an error, because a body without a length may
                # have been truncated.
                sock = self._tls_context.wrap_socket(
                    sock, server_hostname=target.host, do_handshake_on_connect=False, suppress_ragged_eofs=False
                )
            # Not earlier: if a socket is shut down during the TLS handshake, Python leaves it open.
            watchdog.watch(sock)
            if isinstance(sock, ssl.SSLSocket):
                sock.do_handshake()
        except BaseException:
            sock.close()
            raise
        return sock

    def _resolve_permitted(self, host: str, permit: AddressPolicy, watchdog: DeadlineWatchdog) -> Sequence[Address]:
        """Resolve ``host`` once and return all its addresses.

        Raises AddressForbidden if any of them is not permitted: only an attacker mixes them with permitted ones.
        """
        addresses = _call_with_timeout(watchdog.remaining_s(), lambda: self.resolve(host))
        if not addresses:
            raise OutboundError("has no address")
        if not all(permit(address) for address in addresses):
            raise AddressForbidden("has an address that this server does not connect to")
        return addresses


def system_resolve(host: str) -> list[Address]:
    """Return the addresses of ``host`` from the system's resolver, without duplicates, in its order."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(
        dict.fromkeys(ipaddress.ip_address(str(socket_address[0]).partition("%")[0]) for *_, socket_address in found)
    )


def _call_with_timeout(seconds: float, look_up: Callable[[], Sequence[Address]]) -> Sequence[Address]:
    """Return the result of a call that has no timeout. Raises OutboundTimeout, or what the call raises."""
    results: queue.Queue[Sequence[Address] | Exception] = queue.Queue()

    def work() -> None:
        try:
            results.put(look_up())
        except Exception as error:  # noqa: BLE001 - raised again in the waiting thread
            results.put(error)

    threading.Thread(target=work, name="resolve", daemon=True).start()
    try:
        result = results.get(timeout=seconds)
    except queue.Empty:
        raise OutboundTimeout("was not found in time") from None
    if isinstance(result, Exception):
        raise result
    return result


def _connect_first(addresses: Sequence[Address], port: int, watchdog: DeadlineWatchdog) -> socket.socket:
    """Return a connection to the first of ``addresses`` that accepts it."""
    failure: OSError = OSError("no address")
    for number, address in enumerate(addresses, start=1):
        # Half of the time, so that an address that never responds leaves time for the others and for the exchange.
        left = watchdog.remaining_s() / (1 if number == len(addresses) else 2)
        if not left:  # a name can have thousands of addresses
            raise TimeoutError("the deadline has passed")
        sock = socket.socket(socket.AF_INET if address.version == 4 else socket.AF_INET6, socket.SOCK_STREAM)
        try:
            sock.settimeout(min(_CONNECT_TIMEOUT_S, left))
            sock.connect((str(address), port))
        except OSError as error:
            sock.close()
            failure = error
            continue
        sock.settimeout(_READ_TIMEOUT_S)
        return sock
    raise failure


class _FinalResponse(HTTPResponse):
    """A response after those that announce it: the base class skips only 100 of the interim ones."""

    def begin(self) -> None:
        """Read the head of the response. Raises HTTPException after too many interim responses."""
        super().begin()
        for _ in range(_MAX_INTERIM_RESPONSES):
            if self.status >= 200 or self.status == HTTPStatus.SWITCHING_PROTOCOLS:
                return
            self.headers = self.msg = None  # type: ignore[assignment]  # the base class reads a head only once
            super().begin()
        raise HTTPException("too many interim responses")


@contextmanager
def _send_request(request: OutboundRequest, sock: socket.socket) -> Iterator[HTTPResponse]:
    """Send ``request`` over ``sock`` and yield the response."""
    target = request.target
    connection = HTTPConnection(target.host, target.port)
    connection.response_class = _FinalResponse
    connection.sock = sock
    connection.putrequest(request.method, target.path, skip_host=True, skip_accept_encoding=True)
    fixed = {"Host": target.host_header, "Connection": "close", "Accept-Encoding": "identity"}
    if request.body is not None:
        fixed["Content-Length"] = str(len(request.body))
    for name, value in {**request.headers, **fixed}.items():
        connection.putheader(name, value)
    connection.endheaders(request.body)
    response = connection.getresponse()
    try:
        yield response
    finally:
        with suppress(OSError, ValueError):
            response.close()


def _describe_too_large(max_bytes: int) -> str:
    return f"sends more than {max_bytes} bytes"
