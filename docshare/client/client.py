"""The client: one credential on one origin, and the nouns of the API."""

import sys
from collections.abc import Callable
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from docshare import __version__
from docshare.client.address import parse_address
from docshare.client.clock import SYSTEM_CLOCK, Clock
from docshare.client.options import Exchange, Options
from docshare.client.pacing import Meter
from docshare.client.retries import Call

if TYPE_CHECKING:
    from docshare.client.account import Account
    from docshare.client.activity import Activity
    from docshare.client.assets import Assets
    from docshare.client.design import Design
    from docshare.client.events import Events
    from docshare.client.files import Files
    from docshare.client.imports import Imports
    from docshare.client.invites import Invites
    from docshare.client.oauth import OAuth
    from docshare.client.public import Public
    from docshare.client.raw import Raw
    from docshare.client.readership import Readership
    from docshare.client.settings import Settings
    from docshare.client.transport import Transport
    from docshare.client.variants import Variants
    from docshare.client.webhooks import Webhooks

USER_AGENT = f"docshare/{__version__} (python; {sys.platform})"


class Client:
    """A server of this API.

    Parameters:
        base_url: address of the service without ``/api/v1``.
        token: API key or access token; a callable is asked before every request; None sends no credential.
        user_agent: the header's value.
        timeout: seconds without a byte from the server after which a call gives up.
        retries: how often a call is repeated where that is safe; 0 turns every repetition and waiting off.
        max_wait: most seconds that one call waits in total for a rate limit or a busy server.
        on_wait: called as ``on_wait(reason, seconds)`` before each such wait.
        on_exchange: called with an ``Exchange`` after each answer (for ``-v`` and deprecation notes).
        verify: True, False, or the path of a CA bundle.
        allow_http: lets the token travel over plain http to another machine.
        clock: replaced in tests.

    Raises ``BadAddress`` for a base URL that cannot be used. One thread at a time; ``fork`` makes one for another.
    """

    def __init__(
        self,
        base_url: str,
        token: str | Callable[[], str] | None = None,
        *,
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
        self._address = parse_address(base_url, with_token=token is not None, allow_http=allow_http)
        self._token = token
        self._options = Options(user_agent, timeout, retries, max_wait, on_wait, on_exchange, verify, clock)
        self._meter = Meter()
        self._uploaded: set[str] = set()

    @cached_property
    def files(self) -> "Files":
        """Files: list, show, upload, download, delete, QR code."""
        from docshare.client.files import Files  # here and below: a command needs one noun, and waits for no other

        return Files(self._transport, self._uploaded)

    @cached_property
    def settings(self) -> "Settings":
        """Settings of files."""
        from docshare.client.settings import Settings

        return Settings(self._transport)

    @cached_property
    def variants(self) -> "Variants":
        """Variants of links, one per recipient."""
        from docshare.client.variants import Variants

        return Variants(self._transport)

    @cached_property
    def invites(self) -> "Invites":
        """Invitations: personal links by e-mail."""
        from docshare.client.invites import Invites

        return Invites(self._transport)

    @cached_property
    def assets(self) -> "Assets":
        """Logos, backgrounds and sounds of files."""
        from docshare.client.assets import Assets

        return Assets(self._transport)

    @cached_property
    def events(self) -> "Events":
        """The polling feed."""
        from docshare.client.events import Events

        return Events(self._transport)

    @cached_property
    def activity(self) -> "Activity":
        """All events of all kinds, by one cursor."""
        from docshare.client.activity import Activity

        return Activity(self._transport)

    @cached_property
    def readership(self) -> "Readership":
        """Who read a file, and how."""
        from docshare.client.readership import Readership

        return Readership(self._transport)

    @cached_property
    def account(self) -> "Account":
        """The account behind the credential."""
        from docshare.client.account import Account

        return Account(self._transport)

    @cached_property
    def public(self) -> "Public":
        """What anybody may know of share links; needs no credential."""
        from docshare.client.public import Public

        return Public(self._transport)

    @cached_property
    def raw(self) -> "Raw":
        """Any request at all."""
        from docshare.client.raw import Raw

        return Raw(self._transport)

    @cached_property
    def oauth(self) -> "OAuth":
        """Signing in by OAuth; needs no credential."""
        from docshare.client.oauth import OAuth

        return OAuth(self._transport)

    @cached_property
    def imports(self) -> "Imports":
        """Documents that the server fetches."""
        from docshare.client.imports import Imports

        return Imports(self._transport)

    @cached_property
    def design(self) -> "Design":
        """Designs of the design tool; the credential is a user token of it."""
        from docshare.client.design import Design

        return Design(self._transport)

    @cached_property
    def webhooks(self) -> "Webhooks":
        """Webhooks and their deliveries."""
        from docshare.client.webhooks import Webhooks

        return Webhooks(self._transport)

    @property
    def origin(self) -> str:
        """Scheme, host and port, for example ``https://docs.example`` (default ports left out)."""
        return self._address.origin

    @property
    def base_url(self) -> str:
        """The base address without a slash at its end."""
        return self._address.base

    @property
    def on_this_host(self) -> bool:
        """Whether the server runs on this host and its operator is the one who asks: then no request limit holds."""
        return self._options.door is not None

    @property
    def clock(self) -> Clock:
        """The clock that the client waits by."""
        return self._options.clock

    def discover(self) -> dict[str, Any]:
        """The discovery document of ``GET /api/v1``; needs no credential."""
        return self._transport.json_object(Call("GET", ""))

    def fork(self, *, retries: int | None = None) -> Self:
        """A client with connections of its own, for another thread or (``retries=0``) for a caller that does its own
        waiting. What one of them learns about the rate limit, the others know."""
        twin = object.__new__(type(self))
        twin._address, twin._token, twin._meter, twin._uploaded = (
            self._address, self._token, self._meter, self._uploaded,
        )  # fmt: skip
        twin._options = self._options if retries is None else self._options._replace(retries=retries)
        return twin

    def pace(self, *, quiet: bool = False) -> None:
        """Wait, if needed, so that a fifth of the rate limit stays free for other processes of this token. ``quiet``:
        without a word to ``on_wait``, for callers who said before how long it takes."""
        self._transport.pace(quiet=quiet)

    def duration(self, requests: int) -> float:
        """Seconds that so many paced requests will take as far as the rate limit goes; 0 while it is unknown."""
        return self._meter.duration(requests)

    def spacing(self) -> float:
        """Seconds that should lie between two requests now; 0 while the rate limit is far."""
        return self._meter.spacing()

    def close(self) -> None:
        """Close the connections; a later call makes new ones."""
        if "_transport" in self.__dict__:
            self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    @cached_property
    def _transport(self) -> "Transport":
        from docshare.client.transport import Transport  # loads requests, which takes longer than all the rest

        return Transport(self._address, self._token, self._options, self._meter)
