"""Store blobs in a bucket of an S3-compatible store, and read them through local copies.

obstore makes the requests. Its packages are an extra of the installation, so only ``runtime`` imports this module, and
only where the settings name a bucket.
"""

import configparser
import errno
import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager, suppress
from datetime import timedelta
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal, cast

from obstore.exceptions import BaseError
from obstore.store import S3Store

from docshare.server.rules.storage_url import BucketAddress
from docshare.server.store.blob_cache import MAX_FILLS, BlobCache, TooManyFillsError
from docshare.server.store.blobs import (
    BACKUP_LOCK,
    OWNER_NAME,
    BlobStore,
    PartialFile,
    StorageUnreachableError,
    SweepResult,
    check_key,
    is_key,
)
from docshare.server.store.trees import remove_tree

if TYPE_CHECKING:
    from obstore.store import ClientConfig, S3Config

COPIES = "copies"
"""The folder of local copies, in the data directory."""

_PART_BYTES = 8 << 20
_PARALLEL_PARTS = 4  # with one being read: 40 MB at most for an upload of any size
_LIST_KEYS = 1000
_CONNECT_TIMEOUT_S, _REQUEST_TIMEOUT_S, _RETRY_S = 3, 60, 8
_READ_TIMEOUT_S = 20  # until a store answers; it gets a part of 8 MB in that time
_HEALTH_INTERVAL_S = 5.0
_DEFAULT_REGION = "us-east-1"
_REASONS = (
    re.compile(r"<Code>(.*?)</Code>.*?<Message>(.*?)</Message>", re.DOTALL),
    re.compile(r"status code: (\d{3}(?: \w+)*)"),
    re.compile(r"\b(InvalidCertificate)\(\s*(\w+)"),
    re.compile(r"\b(?:message|error): \"([^\"]+)\""),  # of the system, deep in the tree
    re.compile(r" - (.*error.*)"),
)
_CREDENTIALS = ("access_key_id", "secret_access_key", "session_token")


class BucketBlob:
    """A blob in a bucket. ``os.fspath`` returns the path of its local copy, which it makes if there is none."""

    def __init__(self, store: "BucketStore", key: str) -> None:
        self._store = store
        self._key = key

    def __fspath__(self) -> str:
        return str(self._store.fetch(self._key))

    def open(self, mode: Literal["rb"], /) -> IO[bytes]:
        """Open the local copy. Raises FileNotFoundError, OSError and StorageUnreachableError."""
        return open(self, mode)

    def discard_copy(self) -> None:
        """Delete the local copy, so that the next reader fetches the blob again."""
        self._store.discard_copy(self._key)


class BucketStore(BlobStore):
    """Blobs as objects ``<prefix>/<key>`` of a bucket. ``folder``: the data directory, with the partial files, the
    local copies and the lock of a backup; ``environ`` has the credentials; ``name`` as for ``BlobStore``; ``ca_bundle``
    certificates trusted in addition to the system's; ``max_fetches`` number of threads that may wait for objects."""

    is_shared = True

    def __init__(
        self,
        address: BucketAddress,
        folder: Path,
        name: Callable[[], str],
        environ: Mapping[str, str],
        *,
        encrypt: Callable[[int], bytes] | None = None,
        ca_bundle: Path | None = None,
        max_fetches: int = MAX_FILLS,
    ) -> None:
        super().__init__(folder / "tmp", folder / BACKUP_LOCK, name, encrypt)
        self.tmp.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._cache = BlobCache(folder / COPIES, max_fills=max_fetches)
        self._client = _connect(address, environ, ca_bundle)
        self._health_lock = threading.Lock()
        self._health: tuple[float, bool] = (-_HEALTH_INTERVAL_S, False)
        self._has_refused = False  # an upload failed, so health checks also write

    def store(self, part: PartialFile) -> str:
        """Send ``part`` to the bucket in parts; keep it as the local copy, because its uploader will open it soon."""
        key = self._generate_name()
        part.close()
        try:
            with _translate_write_errors():
                self._client.put(key, part.path, chunk_size=_PART_BYTES, max_concurrency=_PARALLEL_PARTS)
        except StorageUnreachableError:
            self._has_refused = True
            raise
        part.mark_stored()
        try:
            self._cache.adopt(part.path, key)
        except OSError:
            part.path.unlink(missing_ok=True)  # the bucket has the bytes; a reader fetches them again
        return key

    def path(self, key: str) -> BucketBlob:
        """Return the blob ``key``. Raises ValueError if it is not a key."""
        return BucketBlob(self, check_key(key))

    def fetch(self, key: str) -> Path:
        """Return the path of the local copy of ``key``, after fetching it if there is none.

        Raises FileNotFoundError if the bucket does not have it, OSError if the copy cannot be written, and
        StorageUnreachableError.
        """
        try:
            return self._cache.get(key, lambda file: self._download(key, file))
        except TooManyFillsError:
            raise StorageUnreachableError("it is slow, and other requests wait for it") from None

    def discard_copy(self, key: str) -> None:
        """Delete the local copy of ``key`` only."""
        self._cache.delete(key)

    def _download(self, key: str, file: IO[bytes]) -> None:
        for block in self.read_blocks(key):
            file.write(block)

    def find_size(self, key: str) -> int | None:
        """Ask the bucket for the size of the object. Returns None only if the bucket exists and lacks the object."""
        try:
            with _translate_errors():
                return self._client.head(check_key(key))["size"]
        except FileNotFoundError:
            self._read_owner()
            return None

    def _read_owner(self) -> bytes:
        """Return the name of the instance in the bucket. Raise StorageUnreachableError if there is none: the bucket was
        deleted, or is another one."""
        try:
            with _translate_errors():
                return bytes(self._client.get(OWNER_NAME).bytes())
        except FileNotFoundError:
            raise StorageUnreachableError(f"the bucket or its object {OWNER_NAME} was deleted") from None

    def read_blocks(self, key: str) -> Iterator[bytes]:
        """Yield the bytes of the object, which is fetched in ranges: a request that fails repeats one range only."""
        size, done = self.find_size(key), 0
        if size is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), key)
        while done < size:
            with _translate_errors():
                block = bytes(self._client.get_range(key, start=done, length=min(_PART_BYTES, size - done)))
            if not block:  # the request would be repeated without end
                raise StorageUnreachableError(f"the object ends after {done} of {size} bytes")
            yield block
            done += len(block)

    def put(self, key: str, blocks: Iterable[bytes]) -> None:
        """Send ``blocks`` to the bucket: a small document in one request, which takes a third of the time."""
        content = _join_small(blocks)
        with _translate_write_errors():
            self._client.put(check_key(key), content, chunk_size=_PART_BYTES, max_concurrency=_PARALLEL_PARTS)

    def delete(self, key: str) -> None:
        """Delete the local copy and the object; return once the bucket has confirmed it."""
        self._cache.delete(check_key(key))
        with _translate_errors(), suppress(FileNotFoundError):
            self._client.delete(key)

    def list_old(self, before: int) -> Iterator[list[str]]:
        """Yield the keys of the objects that were stored before ``before`` (ms), a thousand at a time."""
        with _translate_errors():
            for objects in self._client.list(chunk_size=_LIST_KEYS):
                old = [each["path"] for each in objects if each["last_modified"].timestamp() * 1000 < before]
                yield [path for path in old if is_key(path)]

    def sweep(self, known: Iterable[str]) -> SweepResult:  # noqa: ARG002 - as in a folder
        """Remove partial files. Blobs without a row may be uploads to other instances; ``list_old`` finds them."""
        partials = list(self.tmp.iterdir())
        for path in partials:
            remove_tree(path)
        return SweepResult(len(partials), 0)

    def delete_copies(self, find_stored: Callable[[list[str]], Set[str]]) -> int:
        """Delete the local copies that are not among the keys that ``find_stored`` returns."""
        copies = self._cache.list_keys()
        gone = set(copies) - find_stored(copies) if copies else set()
        for key in gone:
            self._cache.delete(key)
        return len(gone)

    def is_writable(self) -> bool:
        """Return whether the bucket answered and was the one of this instance, at most five seconds ago, and the folder
        of partial files is writable. After a failed upload the bucket must also accept an object."""
        with self._health_lock:
            checked_at, is_answering = self._health
            if time.monotonic() - checked_at >= _HEALTH_INTERVAL_S:
                is_answering = self._is_answering()
                self._health = (time.monotonic(), is_answering)
        return is_answering and os.access(self.tmp, os.W_OK | os.X_OK)

    def _is_answering(self) -> bool:
        try:
            owner = self._read_owner()
            if self._has_refused:
                with _translate_write_errors():
                    self._client.put(OWNER_NAME, owner)
                self._has_refused = False
        except StorageUnreachableError:
            return False
        return True

    def claim(self, owner: str) -> str:
        """Write the name of the instance to an object; a name that is already there is kept and written again, to find
        out at every start whether the bucket accepts writes."""
        try:
            with _translate_errors():
                owner = bytes(self._client.get(OWNER_NAME).bytes()).decode("ascii", "replace")
        except FileNotFoundError:
            pass  # the store belongs to no instance yet
        with _translate_write_errors():
            self._client.put(OWNER_NAME, owner.encode())
        return owner


def _join_small(blocks: Iterable[bytes]) -> bytes | Iterator[bytes]:
    """Return ``blocks`` as one if they are not larger than a part."""
    source, head = iter(blocks), bytearray()
    for block in source:
        head += block
        if len(head) > _PART_BYTES:
            return chain([bytes(head)], source)
    return bytes(head)


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Raise errors of obstore as StorageUnreachableError. FileNotFoundError passes: there is no such object."""
    try:
        yield
    except BaseError as error:
        raise StorageUnreachableError(_summarize(str(error))) from error


@contextmanager
def _translate_write_errors() -> Iterator[None]:
    """Like ``_translate_errors``, for a write: not found is then the bucket, and becomes StorageUnreachableError."""
    try:
        with _translate_errors():
            yield
    except FileNotFoundError as error:
        raise StorageUnreachableError(f"the bucket does not exist: {_summarize(str(error))}") from error


def _summarize(text: str) -> str:
    """Return the cause in a few words. ``text`` is an error of obstore: a sentence, the document that the store sent,
    and a tree of Rust structures."""
    for pattern in _REASONS:
        if match := pattern.search(text):
            return ": ".join(match.groups())
    return text.strip().partition("\n")[0]


def _connect(address: BucketAddress, environ: Mapping[str, str], ca_bundle: Path | None) -> S3Store:
    options: S3Config = {"region": address.region or _find_region(environ)}
    if address.endpoint is not None:
        options["endpoint"] = address.endpoint
    trusted: ClientConfig = {} if ca_bundle is None else {"root_certificate": ca_bundle.read_bytes()}
    return S3Store(
        address.bucket,
        prefix=address.prefix or None,
        config=cast("S3Config", {**options, **_find_credentials(environ)}),
        client_options={
            "allow_http": (address.endpoint or "").startswith("http://"),
            "connect_timeout": timedelta(seconds=_CONNECT_TIMEOUT_S),
            "read_timeout": timedelta(seconds=_READ_TIMEOUT_S),
            "timeout": timedelta(seconds=_REQUEST_TIMEOUT_S),
            **trusted,
        },
        retry_config={
            "max_retries": 3,
            "retry_timeout": timedelta(seconds=_RETRY_S),
            "backoff": {"init_backoff": timedelta(seconds=0.1), "max_backoff": timedelta(seconds=2), "base": 2},
        },
    )


def _find_credentials(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the credentials of the environment or of the profile in ``~/.aws/credentials``.

    Nothing without either: obstore then asks the metadata service of the machine.
    """
    credentials = {name: environ.get(f"AWS_{name.upper()}", "") for name in _CREDENTIALS}
    if not credentials["access_key_id"]:
        profile = _read_profile(environ, "AWS_SHARED_CREDENTIALS_FILE", "credentials")
        credentials = {name: profile.get(f"aws_{name}", "") for name in _CREDENTIALS}
    return {name: value for name, value in credentials.items() if value}


def _find_region(environ: Mapping[str, str]) -> str:
    named = environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION")
    return named or _read_profile(environ, "AWS_CONFIG_FILE", "config").get("region") or _DEFAULT_REGION


def _read_profile(environ: Mapping[str, str], variable: str, file: str) -> Mapping[str, str]:
    """Return the keys of the profile AWS_PROFILE in a file of ``~/.aws``, or in the file that ``variable`` names."""
    parser = configparser.RawConfigParser()
    with suppress(OSError, configparser.Error):
        parser.read_string(Path(environ.get(variable) or f"~/.aws/{file}").expanduser().read_text(encoding="utf-8"))
    profile = environ.get("AWS_PROFILE") or "default"
    section = next((name for name in (f"profile {profile}", profile) if parser.has_section(name)), None)
    return parser[section] if section else {}
