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
from http.client import HTTPConnection, HTTPMessage, HTTPResponse
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
_CONNECT_TIMEOUT_S = 10.0  # per address, so that one dead address of several leaves time for the others
_READ_TIMEOUT_S = 20.0  # without a byte: a dead connection must not occupy a thread until the deadline


@dataclass(frozen=True)
class OutboundRequest:
    """A request to send. ``headers`` other than Host, Content-Length, Connection and Accept-Encoding."""

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

    def read_blocks(self, most: int) -> Iterator[bytes]:
        """Yield the body in blocks.

        Raises TooLarge as soon as it is known to exceed ``most`` bytes, and OutboundError if it ends early.
        """
        if (self._response.length or 0) > most:
            raise TooLarge(_describe_too_large(most))
        size = 0
        while block := self._read():
            size += len(block)
            if size > most:
                raise TooLarge(_describe_too_large(most))
            yield block
        if self._response.length:  # the rest that the headers announced is missing
            raise OutboundError("ended its answer early")

    def read_head(self, most: int) -> bytes:
        """Return at most the first ``most`` bytes of the body, for callers that do not need the rest."""
        found = bytearray()
        while len(found) < most and (block := self._read()):
            found += block
        return bytes(found[:most])

    def _read(self) -> bytes:
        with translate_errors(self._watchdog):
            # read1, because read reads a chunk of negative size until the connection ends.
            return self._response.read1(_BLOCK_BYTES)


class OutboundClient:
    """Sends requests for the server. Thread-safe.

    Parameters: ``ca_bundle`` certificates trusted in addition to the system's; ``transfers`` how many downloads may
    run at once, and how many wait; ``resolve`` the name service. Each request that waits for another host occupies a
    thread of the server: ``transfer_slots`` limits the downloads, ``webhook_slots`` the tests of webhooks and the
    lookups for new ones.
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
        """Send ``request`` and yield the response, if its status is below 300 or from 400 on.

        Parameters: ``permit`` returns whether an address of the host may be connected to; ``deadline_s`` seconds
        until the block must be left. Raises OutboundError: AddressForbidden, OutboundRedirect, OutboundTimeout and
        others.
        """
        watchdog = DeadlineWatchdog(deadline_s)
        with ExitStack() as held:
            held.callback(watchdog.release)
            with translate_errors(watchdog):
                sock = held.enter_context(self._connect(request.target, permit, watchdog))
                response = held.enter_context(_send_request(request, sock))
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
                self._resolve_vetted(target.host, permit, watchdog)
        finally:
            watchdog.release()

    @cached_property
    def _trust(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        # Some builds of Python accept a connection that just ends as a proper end.
        context.options &= ~getattr(ssl, "OP_IGNORE_UNEXPECTED_EOF", 0)  # OpenSSL before 3 has no such option
        if self._ca_bundle is not None:
            context.load_verify_locations(self._ca_bundle)
        return context

    def _connect(self, target: OutboundTarget, permit: AddressPolicy, watchdog: DeadlineWatchdog) -> socket.socket:
        """Return a connection to the host, with TLS if the scheme requires it."""
        sock = _connect_first(self._resolve_vetted(target.host, permit, watchdog), target.port, watchdog)
        try:
            if target.scheme == "https":
                # Ragged ends are errors: without a length, a truncated body cannot be distinguished
                # from a complete one.
                sock = self._trust.wrap_socket(
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

    def _resolve_vetted(self, host: str, permit: AddressPolicy, watchdog: DeadlineWatchdog) -> Sequence[Address]:
        """Return all addresses of ``host``, resolved once.

        If one is not permitted, none is used: a mixture of both indicates an attack.
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
    return list(dict.fromkeys(ipaddress.ip_address(str(place[0]).partition("%")[0]) for *_, place in found))


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
    for address in addresses:
        left = watchdog.remaining_s()
        if not left:  # a name can have thousands of addresses
            break
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


@contextmanager
def _send_request(request: OutboundRequest, sock: socket.socket) -> Iterator[HTTPResponse]:
    """Send ``request`` over ``sock`` and return the response."""
    target = request.target
    connection = HTTPConnection(target.host, target.port)
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


def _describe_too_large(most: int) -> str:
    return f"sends more than {most} bytes"
