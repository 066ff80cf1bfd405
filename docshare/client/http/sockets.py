"""Connections that survive a slow uplink.

While a request is being sent, urllib3 keeps the connect timeout on the socket, and Python applies it to each
``sendall`` as a whole: with 10 s, a block of 256 KiB fails below 26 KiB/s. Here a block may take ``SEND_TIMEOUT``.
"""

from typing import Any

from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, PoolManager, ProxyManager
from urllib3.connection import HTTPConnection, HTTPSConnection

SEND_TIMEOUT = 120.0  # seconds for one block


class _SlowUplink(HTTPConnection):
    def connect(self) -> None:
        super().connect()
        self.sock.settimeout(SEND_TIMEOUT)


class _SlowSecureUplink(HTTPSConnection):
    def connect(self) -> None:
        super().connect()
        self.sock.settimeout(SEND_TIMEOUT)


class _Pool(HTTPConnectionPool):
    ConnectionCls = _SlowUplink


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _SlowSecureUplink


class SlowUplinkAdapter(HTTPAdapter):
    """The adapter of ``requests`` for these connections, with and without an HTTP proxy."""

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        """Create the pool manager; parameters as in ``HTTPAdapter``."""
        super().init_poolmanager(*args, **kwargs)
        _use_slow_uplinks(self.poolmanager)

    def proxy_manager_for(self, proxy: str, **kwargs: Any) -> PoolManager:
        """Return the pool manager of a proxy; parameters as in ``HTTPAdapter``. SOCKS proxies are not changed."""
        manager: PoolManager = super().proxy_manager_for(proxy, **kwargs)
        if isinstance(manager, ProxyManager):
            _use_slow_uplinks(manager)
        return manager


def _use_slow_uplinks(manager: PoolManager) -> None:
    manager.pool_classes_by_scheme = {"http": _Pool, "https": _SecurePool}
