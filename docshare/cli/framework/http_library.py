"""``requests``, loaded without what guesses the encoding of a text.

``requests`` runs without such a library and says so in a warning; with one, loading it is a twelfth of what a command
takes. Nothing here reads a text whose encoding is not told: the API answers in UTF-8, and files are bytes. Only the
command line loads it like this. A program that uses the client library keeps its ``requests`` as it is.
"""

import sys
import threading
import warnings
from functools import cached_property
from typing import TYPE_CHECKING, Any

from docshare.client.client import Client

if TYPE_CHECKING:
    from docshare.cli.framework.local_server import LocalServer
    from docshare.client.transport import Transport

_ENCODING_DETECTORS = ("chardet", "charset_normalizer")
_load_lock = threading.Lock()  # uploads go out from several threads


def load_http_library() -> None:
    """Load ``requests``, unless that has happened. Both guessers can be imported afterwards by who wants one."""
    with _load_lock:
        if "requests" not in sys.modules:
            _load_without_detectors()


def _load_without_detectors() -> None:
    # Not undone at the end: that would undo what requests and urllib3 themselves set up for their warnings.
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
    """The client of a command: as it asks for the first time, it loads ``requests`` this way."""

    def go_through(self, door: "LocalServer") -> None:
        """Reach the server by its ``door`` on this host; it is called what it was called before."""
        self._options = self._options._replace(door=(door.url, door.key))

    @cached_property
    def _transport(self) -> "Transport":
        load_http_library()
        return super()._transport
