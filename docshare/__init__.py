"""docshare: share documents as links and know who read them.

The library is ``from docshare import Client``; ``docshare help library`` shows it at work. Names in ``__all__`` are
loaded on first use, so that ``import docshare`` costs nothing.
"""

__version__ = "0.1.0"

TYPE_CHECKING = False  # type checkers take it for true; the module typing would be loaded with every command
if TYPE_CHECKING:
    from docshare.client.client import Client as Client
    from docshare.client.delivery_verification import verify_signature as verify_signature
    from docshare.client.errors import ClientError as ClientError
    from docshare.client.errors import RateLimited as RateLimited
    from docshare.client.errors import TransportError as TransportError
    from docshare.client.errors import UnknownOutcome as UnknownOutcome
    from docshare.contract.problems import Problem as Problem

_HOMES = {
    "Client": "docshare.client.client",
    "ClientError": "docshare.client.errors",
    "Problem": "docshare.contract.problems",
    "RateLimited": "docshare.client.errors",
    "TransportError": "docshare.client.errors",
    "UnknownOutcome": "docshare.client.errors",
    "verify_signature": "docshare.client.delivery_verification",
}

__all__ = [
    "Client", "ClientError", "Problem", "RateLimited", "TransportError", "UnknownOutcome", "__version__",
    "verify_signature",
]  # fmt: skip


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
