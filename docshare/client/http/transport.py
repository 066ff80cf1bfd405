"""The only HTTP call of the client: credential, retries, pacing, and translation of responses to values or errors."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from http import HTTPStatus
from http.cookiejar import DefaultCookiePolicy
from typing import Any, cast

import requests
from requests.auth import AuthBase

from docshare.client.address import BaseAddress, parse_origin
from docshare.client.errors import NotAnApi, Redirected, Refused, TransportError
from docshare.client.http.answers import parse_refusal
from docshare.client.http.call import Call
from docshare.client.http.failures import translate_error
from docshare.client.http.rate_limits import RateMeter, read_date
from docshare.client.http.retries import RetryPolicy, describe_reason
from docshare.client.http.sockets import SlowUplinkAdapter
from docshare.client.options import CONNECT_TIMEOUT, ClientOptions, Exchange
from docshare.contract.problems import MEDIA_TYPE, Problem

_MAX_ERROR_BYTES = 64 * 1024  # bytes of an error response that are read
_TOKEN = re.compile(r"[\x21-\x7e]+")
_MIN_REPORTED_WAIT = 2.0  # seconds of pacing that a person would notice


class Bearer(AuthBase):
    """Set the credential, only for its origin. An auth object, even one that sets nothing, also prevents requests from
    replacing the header with a login from ``~/.netrc``."""

    def __init__(self, token: str | Callable[[], str] | None, origin: str, instance_key: str = "") -> None:
        self._token = token
        self._loaded: str | None = None
        self._origin = origin
        self._instance_key = instance_key

    def load(self) -> None:
        """Determine the token of the next request, before it begins: that may take requests of its own, which decide
        themselves whether they are retried. A refresh token that is sent twice revokes its login."""
        self._loaded = self._token() if callable(self._token) else self._token

    def renew(self) -> bool:
        """Return whether there is a new token after the server rejected the one of the last request."""
        renew = getattr(self._token, "renew", None)
        return renew is not None and renew(self._loaded)

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        token = self._loaded
        if token is None:
            return request
        if parse_origin(request.url or "") != self._origin:
            raise Problem("forbidden", f"the credential belongs to {self._origin} and is not sent to other servers")
        if not _TOKEN.fullmatch(token):
            raise Problem("unauthorized", "the credential contains invalid characters, such as a line break")
        request.headers["Authorization"] = f"Bearer {token}"
        if self._instance_key:
            from docshare.contract.local_proof import HEADER, compute_proof

            request.headers[HEADER] = compute_proof(self._instance_key, f"Bearer {token}")
        return request


class Transport:
    """Sends calls to one address with one credential, in one thread only."""

    def __init__(
        self, address: BaseAddress, token: str | Callable[[], str] | None, options: ClientOptions, meter: RateMeter
    ) -> None:
        self.address = address
        self.options = options
        self._meter = meter
        self._skew = 0.0
        self._base, key = options.local_access or (address.base, "")
        self._bearer = Bearer(token, parse_origin(self._base), key)
        self._session = _open_session(self._bearer, options)

    def with_options(self, options: ClientOptions) -> "Transport":
        """Return a transport with ``options`` that uses the same connections."""
        twin = copy(self)
        twin.options = options
        return twin

    def json_object(self, call: Call) -> dict[str, Any]:
        """Send ``call`` and return its JSON object; raise as ``send`` does, and ``NotAnApi`` for anything else."""
        return self.parse_object(call, self.send(call))

    def parse_object(self, call: Call, response: requests.Response) -> dict[str, Any]:
        """Return the JSON object in the ``response`` to ``call``; raise ``NotAnApi`` for anything else."""
        value = self._parse_value(call, response)
        if not isinstance(value, dict):
            raise self._unexpected_answer(call, "a JSON object")
        return value

    def json_rows(self, call: Call) -> list[dict[str, Any]]:
        """Send ``call`` and return its JSON array of objects; raise as ``json_object`` does."""
        value = self.json_value(call)
        if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
            raise self._unexpected_answer(call, "a JSON array of objects")
        return value

    def json_value(self, call: Call) -> Any:
        """Send ``call`` and return its JSON value; raise as ``send`` does, and ``NotAnApi`` for anything else."""
        return self._parse_value(call, self.send(call))

    def send(self, call: Call) -> requests.Response:
        """Send ``call``, with as many retries as it allows, and return the 2xx response.

        A login that the server rejects is renewed once, if it can be, and the call is sent again.

        Raise ``Refused`` (``RateLimited`` for 429) for a status of 400 or more, ``Redirected`` for 3xx, and another
        ``TransportError`` if there is no response. With ``call.stream``, the caller reads the body.
        """
        return self._send(call, RetryPolicy(self.options))

    def send_unless_done(self, call: Call) -> requests.Response | None:
        """Send ``call``, which finds nothing once it has succeeded, such as a deletion, as ``send`` does. Return None
        if a response was lost and the retry gets 404, because the earlier attempt succeeded."""
        patience = RetryPolicy(self.options)
        try:
            return self._send(call, patience)
        except Refused as error:
            if error.status == HTTPStatus.NOT_FOUND and patience.has_lost_response:
                return None
            raise

    def _send(self, call: Call, patience: RetryPolicy) -> requests.Response:
        is_renewed = False
        while True:
            self._bearer.load()
            try:
                return self._attempt(call)
            except (Refused, TransportError) as error:
                if isinstance(error, Refused) and error.status == 401 and not is_renewed:
                    is_renewed = True
                    if self._bearer.renew():
                        continue
                pause = patience.next_delay(call, error)
                if pause is None:
                    raise
                self._wait(describe_reason(error), pause)

    def blocks(self, response: requests.Response, call: Call, size: int) -> Iterator[bytes]:
        """Yield the body of a streamed response in blocks of up to ``size`` bytes; raise ``TransportError``."""
        try:
            with response:
                yield from response.iter_content(size)
        except requests.RequestException as error:
            raise translate_error(error, call, self.address.origin) from error

    def server_time(self) -> float:
        """Return the current time of the server, based on its last response, in seconds since 1970."""
        return self.options.clock.wall() + self._skew

    def pace(self, *, quiet: bool = False) -> None:
        """Wait until the next request stays below the rate limit; ``quiet``: do not call ``on_wait``."""
        due = self._meter.seconds_until_due(self.options.clock.monotonic())
        if due > 0:
            self._wait("staying below the rate limit", due, quiet=quiet or due < _MIN_REPORTED_WAIT)

    def close(self) -> None:
        """Close every open connection; a later call opens a new one."""
        self._session.close()

    def _attempt(self, call: Call) -> requests.Response:
        try:
            response = self._request(call)
            if response.status_code < 300 and not call.stream:
                _ = response.content  # read here, so that a broken response is a failed attempt
        except requests.RequestException as error:
            raise translate_error(error, call, self.address.origin) from error
        if response.status_code >= 400:
            raise self._read_refusal(call, response)
        if response.status_code >= 300:
            raise self._redirect_error(call, response)
        return response

    def _request(self, call: Call) -> requests.Response:
        clock, options = self.options.clock, self.options
        headers = {"Accept-Encoding": call.encoding} if call.encoding else {}
        if call.body is not None:
            headers["Content-Type"] = call.body.content_type
        headers |= call.headers
        began = clock.monotonic()
        response = self._session.request(
            call.method,
            self._base + call.whole_path,
            params=dict(call.params),
            data=cast("Iterable[bytes] | None", call.body),  # a socket takes its memoryviews too
            headers=headers,
            timeout=(CONNECT_TIMEOUT, max(options.timeout, call.read_timeout or 0.0)),
            verify=options.verify,
            allow_redirects=False,
            stream=True,
        )
        now = clock.monotonic()
        self._meter.update(response.headers, clock.wall(), now)
        date = read_date(response.headers)
        self._skew = 0.0 if date is None else date - clock.wall()
        if options.on_exchange:
            sent = response.request.headers
            exchange = Exchange(call.method, response.url, response.status_code, now - began, sent, response.headers)
            options.on_exchange(exchange)
        return response

    def _read_refusal(self, call: Call, response: requests.Response) -> Refused:
        wall = self.options.clock.wall()
        path = call.whole_path
        body = _read_error_body(response)
        return parse_refusal(response.status_code, response.headers, body, method=call.method, path=path, wall=wall)

    def _redirect_error(self, call: Call, response: requests.Response) -> Redirected:
        response.close()
        target = response.headers.get("Location", "an address it does not name")
        return Redirected(
            f"{self.address.origin} redirects to {target}",
            hint="Check whether the base URL must be https. Redirects are not followed, to protect the credential.",
            method=call.method,
            path=call.whole_path,
        )

    def _parse_value(self, call: Call, response: requests.Response) -> Any:
        try:
            return json.loads(response.content)
        except (ValueError, RecursionError) as error:
            raise self._unexpected_answer(call, "JSON") from error

    def _unexpected_answer(self, call: Call, wanted: str) -> NotAnApi:
        return NotAnApi(
            f"{self.address.base} did not answer with {wanted}",
            hint="Check that this is the base URL of a docshare server.",
            method=call.method,
            path=call.whole_path,
        )

    def _wait(self, why: str, seconds: float, *, quiet: bool = False) -> None:
        if self.options.on_wait and not quiet:
            self.options.on_wait(why, seconds)
        self.options.clock.sleep(seconds)


def _open_session(auth: AuthBase, options: ClientOptions) -> requests.Session:
    session = requests.Session()
    session.trust_env = options.local_access is None  # use no proxy for a loopback address
    session.auth = auth
    session.headers.update({"User-Agent": options.user_agent, "Accept": f"application/json, {MEDIA_TYPE}, */*;q=0.5"})
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    for scheme in ("http://", "https://"):
        session.mount(scheme, SlowUplinkAdapter())
    return session


def _read_error_body(response: requests.Response) -> bytes:
    """Return the first bytes of an error response; its status is valid even if the body never arrives."""
    body = b""
    try:
        with response:
            for block in response.iter_content(_MAX_ERROR_BYTES):
                body += block
                if len(body) >= _MAX_ERROR_BYTES:
                    break
    except requests.RequestException:
        return body
    return body
