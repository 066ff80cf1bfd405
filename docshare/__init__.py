"""docshare: share documents as links and know who read them.

Read ``contract/settings`` first, then ``server/serve`` or ``cli/main``. ``client`` imports ``contract``, but neither
the server nor the command line; ``cli`` imports ``client``, and the server in few places.

The library is ``from docshare import Client``; ``docshare help python`` shows it at work. Names in ``__all__`` are
loaded on first use, so that ``import docshare`` costs nothing.
"""

import sys

__version__ = "0.1.0"

# Type checkers treat it as true. Importing it from ``typing`` raises the instructions of ``--version`` from 1.8 to 2.4
# times those of ``python -c pass``, and those of completion from 2.0 to 2.6; the target is 2.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from docshare.client.client import Client as Client
    from docshare.client.delivery_verification import parse_event as parse_event
    from docshare.client.delivery_verification import verify_signature as verify_signature
    from docshare.client.errors import ClientError as ClientError
    from docshare.client.errors import RateLimited as RateLimited
    from docshare.client.errors import TransportError as TransportError
    from docshare.client.errors import UnknownOutcome as UnknownOutcome
    from docshare.contract.problems import DocshareError as DocshareError
    from docshare.contract.problems import Problem as Problem

_HOMES = {
    "Client": "docshare.client.client",
    "ClientError": "docshare.client.errors",
    "DocshareError": "docshare.contract.problems",
    "Problem": "docshare.contract.problems",
    "RateLimited": "docshare.client.errors",
    "TransportError": "docshare.client.errors",
    "UnknownOutcome": "docshare.client.errors",
    "parse_event": "docshare.client.delivery_verification",
    "verify_signature": "docshare.client.delivery_verification",
}

__all__ = [
    "Client", "ClientError", "DocshareError", "Problem", "RateLimited", "TransportError", "UnknownOutcome",
    "__version__", "parse_event", "verify_signature",
]  # fmt: skip


def version_line() -> str:
    """Return the output of ``--version``."""
    return f"docshare {__version__} (python {'.'.join(map(str, sys.version_info[:3]))}, API v1)"


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
