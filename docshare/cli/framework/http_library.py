"""Import ``requests`` without the library that detects text encodings.

``requests`` works without such a library but prints a warning; importing one takes 7 % of the instructions of
``docshare whoami``. Nothing here needs the detection: the API answers in UTF-8, and files are bytes. Only the command
line imports it this way; a program that uses the client library gets its usual ``requests``.
"""

import sys
import threading
import warnings
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from docshare.client.client import Client

if TYPE_CHECKING:
    from docshare.client.http.transport import Transport
    from docshare.client.login.local_server import LocalServer
    from docshare.client.types.account import Account

_ENCODING_DETECTORS = ("chardet", "charset_normalizer")
_load_lock = threading.Lock()  # parallel uploads run in several threads


def load_http_library() -> None:
    """Import ``requests`` unless it is imported. Both detection libraries can still be imported afterwards."""
    with _load_lock:
        if "requests" not in sys.modules:
            _load_without_detectors()


def _load_without_detectors() -> None:
    # Not undone at the end: that would also undo the warning filters of requests and urllib3 themselves.
    warnings.filterwarnings("ignore", message="Unable to find acceptable character detection dependency")
    hidden = [name for name in _ENCODING_DETECTORS if name not in sys.modules]
    modules: dict[str, Any] = sys.modules  # None there makes an import fail as if it was not installed
    modules.update(dict.fromkeys(hidden))
    try:
        import requests  # noqa: F401
    finally:
        for name in hidden:
            del modules[name]


class CommandClient(Client):
    """The client of a command, which imports ``requests`` on the first request."""

    def connect_through(self, server: "LocalServer") -> None:
        """Connect to the server at its loopback address ``server``, keeping its public URL in links and messages."""
        self._options = self._options._replace(local_access=(server.url, server.key))

    def report_account_to(self, call: "Callable[[Account], None]") -> None:
        """Pass each account that the server returns to ``call``, also from forks of this client."""
        self._options = self._options._replace(on_account=call)

    @cached_property
    def _transport(self) -> "Transport":
        load_http_library()
        return super()._transport
