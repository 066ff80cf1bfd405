"""Check the store of documents and Redis for ``docshare doctor``; ``database_checks`` checks PostgreSQL."""

import ipaddress
import time
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from docshare.contract.findings import DiagnosticFinding, error_finding, passed_finding, warning_finding
from docshare.server.backup.reading import IDENTITY_SECRET, hash_identity
from docshare.server.rules.storage_url import parse_storage_url
from docshare.server.runtime import Runtime
from docshare.server.services.operations.secrets import instance_secret
from docshare.server.store.blobs import StorageUnreachableError

_SLOW_STORAGE_MS = 200.0
_ABSENT_BLOB = "0" * 16
_LOCAL = passed_finding("the connection does not leave this machine")


def check_storage(rt: Runtime, arguments: Mapping[str, str]) -> DiagnosticFinding:  # noqa: ARG001 - as every check
    """Read, write, list and delete in the store that several instances may share."""
    if not rt.blobs.is_shared:
        return passed_finding("documents are in the data directory; another host requires DOCSHARE_STORAGE_URL")
    fix = "Check DOCSHARE_STORAGE_URL, the credentials, and that the store answers."
    started = time.monotonic()
    try:
        rt.blobs.exists(_ABSENT_BLOB)
        latency_ms = (time.monotonic() - started) * 1000
        rt.blobs.claim(hash_identity(instance_secret(rt, IDENTITY_SECRET)))
    except (OSError, StorageUnreachableError) as error:
        return error_finding(f"the storage cannot be used: {error}", fix)
    try:
        next(rt.blobs.list_old(0), None)
        rt.blobs.delete(_ABSENT_BLOB)
    except (OSError, StorageUnreachableError) as error:
        return error_finding(
            f"deleted documents would stay in the storage: {error}",
            "Let the credentials list the bucket and delete objects, not only read and write them.",
        )
    detail = f"the storage answers in {latency_ms:.0f} ms; documents can be read, written, listed, and deleted"
    if latency_ms > _SLOW_STORAGE_MS:
        return warning_finding(f"{detail}: opening a document takes several requests", "Run docshare near its storage.")
    return passed_finding(detail)


def check_storage_tls(rt: Runtime, arguments: Mapping[str, str]) -> DiagnosticFinding:  # noqa: ARG001 - as every check
    """Check that requests to a bucket on another machine are encrypted."""
    address = parse_storage_url(rt.config.storage_url or "")
    if isinstance(address, Path):
        return passed_finding("documents are in a folder of this machine's file system")
    endpoint = address.endpoint or "https://s3.amazonaws.com"
    if _is_local(endpoint):
        return _LOCAL
    if urlsplit(endpoint).scheme == "https":
        return passed_finding("the connection is encrypted; the certificate of the store is verified")
    fix = "Use an endpoint with https:// in DOCSHARE_STORAGE_URL."
    if rt.config.encryption:
        return warning_finding("the connection is not encrypted; only the documents in it are", fix)
    return error_finding("documents are sent to the storage without encryption", fix)


def check_redis(rt: Runtime, arguments: Mapping[str, str]) -> DiagnosticFinding:  # noqa: ARG001 - as every check
    """Check Redis, in which instances share rate limits: it must run scripts and accept writes."""
    started = time.monotonic()
    if rt.shared is None or not rt.shared.is_answering():
        reason = rt.shared.failure if rt.shared is not None else ""
        return warning_finding(
            f"Redis cannot be used{f' ({reason})' if reason else ''}: each instance enforces rate limits separately",
            "Check DOCSHARE_REDIS_URL, that the server is running, and that its user may write and run scripts.",
        )
    latency_ms = (time.monotonic() - started) * 1000
    return passed_finding(f"{rt.shared.read_version() or 'Redis'} answers in {latency_ms:.1f} ms")


def check_redis_tls(rt: Runtime, arguments: Mapping[str, str]) -> DiagnosticFinding:  # noqa: ARG001 - as every check
    """Check that a connection to Redis on another machine is encrypted."""
    url = rt.config.redis_url or ""
    if _is_local(url):
        return _LOCAL
    if urlsplit(url).scheme == "rediss":
        return passed_finding("the connection is encrypted; the certificate of the server is verified")
    return warning_finding(
        "the connection is not encrypted: others in the network can read its password",
        "Use rediss:// in DOCSHARE_REDIS_URL, and ?ssl_ca_certs=FILE for a private authority.",
    )


def _is_local(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
