"""The client: one credential for one origin, with one attribute per noun of the API."""

import os
import sys
from collections.abc import Callable
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Self, cast

from docshare import __version__
from docshare.client.address import parse_address
from docshare.client.http.call import Call
from docshare.client.http.clock import SYSTEM_CLOCK, Clock
from docshare.client.http.rate_limits import RateMeter
from docshare.client.options import ClientOptions, Exchange

if TYPE_CHECKING:
    from docshare.client.account import AccountApi
    from docshare.client.activity import ActivityApi
    from docshare.client.assets import AssetsApi
    from docshare.client.design import DesignApi
    from docshare.client.events import EventsApi
    from docshare.client.files import FilesApi
    from docshare.client.http.transport import Transport
    from docshare.client.imports import ImportsApi
    from docshare.client.invites import InvitesApi
    from docshare.client.keys import KeysApi
    from docshare.client.login.credentials import Credential
    from docshare.client.oauth import IssuedTokens, OAuth
    from docshare.client.public import PublicApi
    from docshare.client.raw import RawApi
    from docshare.client.readership import ReadershipApi
    from docshare.client.settings import SettingsApi
    from docshare.client.types.account import Discovery
    from docshare.client.variants import VariantsApi
    from docshare.client.webhooks import WebhooksApi

USER_AGENT = f"docshare/{__version__} (python; {sys.platform})"


class Client:
    """A client of one server.

    Parameters:
        base_url: address of the server without ``/api/v1``. None: ``DOCSHARE_URL``, or that of the profile.
        token: API key or access token, or a function that returns one before every request. None: no credential if
            there is a ``base_url``, otherwise ``DOCSHARE_TOKEN``, or that of the profile.
        profile: a profile of the command line to use instead of the environment. Its credential is used for the
            origin it was saved for only. A login is renewed shortly before it expires, or if the server rejects it,
            and saved in the profile.
        user_agent: value of the User-Agent header.
        timeout: seconds without data from the server after which a request fails.
        retries: number of retries where they are safe; 0 turns off all retries and waits.
        max_wait: total seconds that one call may wait for a rate limit or a busy server.
        on_wait: called as ``on_wait(reason, seconds)`` before each wait.
        on_exchange: called with an ``Exchange`` after each response.
        verify: True, False, or the path of a CA bundle.
        allow_http: allow sending the token over plain http to another machine.
        clock: replaced in tests.

    Raise ``BadAddress`` for an invalid base URL, and ``MissingCredential`` without a credential. Use a client in one
    thread only; ``fork`` creates one for another.

    Example::

        client = docshare.Client()  # DOCSHARE_URL and DOCSHARE_TOKEN, or the profile of the command line
        for file in client.files.list():
            print(file["originalName"], file["shareUrl"])
    """

    def __init__(
        self,
        base_url: str | None = None,
        token: str | Callable[[], str] | None = None,
        *,
        profile: str | None = None,
        user_agent: str = USER_AGENT,
        timeout: float = 60.0,
        retries: int = 3,
        max_wait: float = 120.0,
        on_wait: Callable[[str, float], None] | None = None,
        on_exchange: Callable[[Exchange], None] | None = None,
        verify: bool | str = True,
        allow_http: bool = False,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        local = None
        if base_url is None or (profile is not None and token is None):
            from docshare.client.login.profiles import find_connection

            access = find_connection(base_url, token, profile, os.environ, self._exchange_refresh_token)
            base_url, token, local = access.url, access.token, access.local
        may_be_plain = allow_http or local is not None
        self._address = parse_address(base_url, with_token=token is not None, allow_http=may_be_plain)
        self._token = token
        self._options = ClientOptions(
            user_agent, timeout, retries, max_wait, on_wait, on_exchange, verify, clock,
            local_access=None if local is None else (local.url, local.key),
        )  # fmt: skip
        self._meter = RateMeter()
        self._uploaded: set[str] = set()

    @cached_property
    def files(self) -> "FilesApi":
        """Files: list, show, upload, download, delete, QR code."""
        from docshare.client.files import FilesApi  # here and below: a command loads only the nouns it uses

        return FilesApi(self._transport, self._uploaded)

    @cached_property
    def settings(self) -> "SettingsApi":
        """Settings of files."""
        from docshare.client.settings import SettingsApi

        return SettingsApi(self._transport)

    @cached_property
    def variants(self) -> "VariantsApi":
        """Variants of links, one per recipient."""
        from docshare.client.variants import VariantsApi

        return VariantsApi(self._transport)

    @cached_property
    def invites(self) -> "InvitesApi":
        """Invitations: personal links by email."""
        from docshare.client.invites import InvitesApi

        return InvitesApi(self._transport)

    @cached_property
    def keys(self) -> "KeysApi":
        """API keys of the account."""
        from docshare.client.keys import KeysApi

        return KeysApi(self._transport)

    @cached_property
    def assets(self) -> "AssetsApi":
        """Logos, backgrounds and sounds of files."""
        from docshare.client.assets import AssetsApi

        return AssetsApi(self._transport)

    @cached_property
    def events(self) -> "EventsApi":
        """Return the event feed."""
        from docshare.client.events import EventsApi

        return EventsApi(self._transport)

    @cached_property
    def activity(self) -> "ActivityApi":
        """Return the activity feed: events of all kinds with one cursor."""
        from docshare.client.activity import ActivityApi

        return ActivityApi(self._transport)

    @cached_property
    def readership(self) -> "ReadershipApi":
        """Who read a file, and how."""
        from docshare.client.readership import ReadershipApi

        return ReadershipApi(self._transport)

    @cached_property
    def account(self) -> "AccountApi":
        """Return the account of the credential."""
        from docshare.client.account import AccountApi

        return AccountApi(self._transport, self._options.on_account)

    @cached_property
    def public(self) -> "PublicApi":
        """Public data of share links; needs no credential."""
        from docshare.client.public import PublicApi

        return PublicApi(self._transport)

    @cached_property
    def raw(self) -> "RawApi":
        """Arbitrary requests."""
        from docshare.client.raw import RawApi

        return RawApi(self._transport)

    @cached_property
    def oauth(self) -> "OAuth":
        """OAuth sign-in; needs no credential."""
        from docshare.client.oauth import OAuth

        return OAuth(self._transport)

    @cached_property
    def imports(self) -> "ImportsApi":
        """Documents that the server fetches from other hosts."""
        from docshare.client.imports import ImportsApi

        return ImportsApi(self._transport)

    @cached_property
    def design(self) -> "DesignApi":
        """Designs of a design tool; the credential is a user token of that tool."""
        from docshare.client.design import DesignApi

        return DesignApi(self._transport)

    @cached_property
    def webhooks(self) -> "WebhooksApi":
        """Webhooks and their deliveries."""
        from docshare.client.webhooks import WebhooksApi

        return WebhooksApi(self._transport)

    @property
    def origin(self) -> str:
        """Scheme, host, and non-default port, such as ``https://docs.example``."""
        return self._address.origin

    @property
    def base_url(self) -> str:
        """Return the base address without a trailing slash."""
        return self._address.base

    @property
    def is_local(self) -> bool:
        """Return whether the server runs on this host and the caller is its operator, who has no rate limit."""
        return self._options.local_access is not None

    @property
    def clock(self) -> Clock:
        """Return the clock that the client uses."""
        return self._options.clock

    def discover(self) -> "Discovery":
        """Return the discovery document (``GET /api/v1``); needs no credential."""
        return cast("Discovery", self._transport.json_object(Call("GET", "")))

    def fork(self, *, retries: int | None = None) -> Self:
        """Return a client with its own connections, for another thread or (``retries=0``) for a caller that waits
        itself. The clients share their knowledge of the rate limit."""
        twin = object.__new__(type(self))
        twin._address, twin._token, twin._meter, twin._uploaded = (
            self._address, self._token, self._meter, self._uploaded,
        )  # fmt: skip
        twin._options = self._options if retries is None else self._options._replace(retries=retries)
        return twin

    def with_options(
        self, *, timeout: float | None = None, retries: int | None = None, max_wait: float | None = None
    ) -> Self:
        """Return this client with other options for single calls, over the same connections.

        Example::

            client.with_options(timeout=5, retries=0).files.show(link)
        """
        old = self._options
        twin = self.fork()
        twin._options = old._replace(
            timeout=old.timeout if timeout is None else timeout,
            retries=old.retries if retries is None else retries,
            max_wait=old.max_wait if max_wait is None else max_wait,
        )
        twin.__dict__["_transport"] = self._transport.with_options(twin._options)
        return twin

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.base_url}, {'no' if self._token is None else 'with a'} credential>"

    def pace(self, *, quiet: bool = False) -> None:
        """Wait if needed to leave a fifth of the rate limit to other processes with this token. ``quiet``: do not call
        ``on_wait``."""
        self._transport.pace(quiet=quiet)

    def duration(self, requests: int) -> float:
        """Return the seconds that ``requests`` paced requests take because of the rate limit; 0 if it is unknown."""
        return self._meter.duration(requests)

    def spacing(self) -> float:
        """Return the seconds to leave between two requests; 0 while the rate limit is not close."""
        return self._meter.spacing()

    def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        if "_transport" in self.__dict__:
            self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def _exchange_refresh_token(self, held: "Credential") -> "IssuedTokens":
        anonymous = self.fork()
        anonymous._token = None
        with anonymous:
            return anonymous.oauth.refresh(anonymous.oauth.server(), held.client_id or "", held.refresh or "")

    @cached_property
    def _transport(self) -> "Transport":
        from docshare.client.http.transport import Transport  # loads requests, the slowest import

        return Transport(self._address, self._token, self._options, self._meter)
