"""A bucket that is deleted, or that refuses to be written to, while an instance uses it."""

from pathlib import Path
from typing import Any

import pytest
from obstore.exceptions import PermissionDeniedError

from docshare.server.rules.storage_url import parse_storage_url
from docshare.server.store.blobs import OWNER_NAME, StorageUnreachableError
from docshare.server.store.bucket import BucketStore
from tests.support.engines.object_store import start_object_store

KEY, ABSENT = "blob000000000001", "blob000000000002"


class ReadOnlyClient:
    """A client whose writes the bucket denies while ``is_denied``."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.is_denied = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def put(self, *args: Any, **named: Any) -> Any:
        if self.is_denied:
            raise PermissionDeniedError("AccessDenied")
        return self._client.put(*args, **named)


@pytest.fixture
def store(tmp_path: Path) -> BucketStore:
    """Return the store of an instance with one document."""
    engine = start_object_store()
    address = parse_storage_url(engine.make_url(engine.create_bucket()))
    assert not isinstance(address, Path)
    store = BucketStore(address, tmp_path, lambda: KEY, engine.environ)
    store.claim("one")
    upload(store)
    return store


def upload(store: BucketStore) -> None:
    part = store.create_partial()
    part.write(b"document")
    try:
        store.store(part)
    finally:
        part.discard()


def is_healthy(store: BucketStore) -> bool:
    store._health = (-10.0, True)  # forget the last answer
    return store.is_writable()


def test_a_document_is_not_missing_while_its_bucket_is_gone(store: BucketStore) -> None:
    assert (store.exists(ABSENT), is_healthy(store)) == (False, True)
    store.delete(KEY)
    store._client.delete(OWNER_NAME)
    assert not is_healthy(store)
    with pytest.raises(StorageUnreachableError, match="the bucket or its object docshare-instance was deleted"):
        store.exists(KEY)
    with pytest.raises(StorageUnreachableError, match="the bucket or its object docshare-instance was deleted"):
        store.fetch(KEY)


def test_a_bucket_that_denies_uploads_is_not_healthy_until_it_accepts_one(store: BucketStore) -> None:
    client = store._client = ReadOnlyClient(store._client)  # type: ignore[assignment]
    with pytest.raises(StorageUnreachableError):
        upload(store)
    assert not is_healthy(store)
    client.is_denied = False
    assert is_healthy(store)
    client.is_denied = True
    assert is_healthy(store), "it is only written to after a failed upload"
