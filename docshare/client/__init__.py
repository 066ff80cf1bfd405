"""The Python library: ``Client(base_url, token).files``, ``.events``, ``.account``.

Read ``client`` first, then ``http/transport``, which makes every request; the other modules have one noun of the API
each. It imports the contract and nothing of the server or the command line. Importing this package is fast:
``requests`` is loaded by the first call that uses the network.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from docshare.client.client import Client as Client

__all__ = ["Client"]


def __getattr__(name: str) -> Any:
    if name == "Client":
        from docshare.client.client import Client

        return Client
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
