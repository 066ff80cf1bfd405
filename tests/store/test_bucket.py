"""Blobs in a bucket of a real object store."""

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from docshare.server import faults
from docshare.server.rules.storage_url import parse_storage_url
from docshare.server.store import blob_cache
from docshare.server.store import bucket as bucket_module
from docshare.server.store.blob_cache import MAX_FILLS
from docshare.server.store.blobs import OWNER_NAME, StorageUnreachableError, SweepResult
from docshare.server.store.bucket import BucketStore
from tests.support.engines.object_store import ObjectStore, run_object_store, start_object_store
from tests.support.engines.redis import run_silent_server
from tests.support.polling import wait_until

_numbers = count()


def make_key() -> str:
    return f"blob{next(_numbers):016d}"


@pytest.fixture
def engine() -> ObjectStore:
    return start_object_store()


@pytest.fixture
def bucket(engine: ObjectStore) -> str:
    return engine.create_bucket()


def open_store(
    engine: ObjectStore, url: str, folder: Path, max_fetches: int = MAX_FILLS, **environ: str
) -> BucketStore:
    address = parse_storage_url(url)
    assert not isinstance(address, Path)
    return BucketStore(address, folder, make_key, engine.environ | environ, max_fetches=max_fetches)


@pytest.fixture
def store(engine: ObjectStore, bucket: str, tmp_path: Path) -> BucketStore:
    store = open_store(engine, engine.make_url(bucket), tmp_path / "one")
    store.claim("one")
    return store


@pytest.fixture
def other(engine: ObjectStore, bucket: str, tmp_path: Path) -> BucketStore:
    """Open the same bucket as another machine."""
    return open_store(engine, engine.make_url(bucket), tmp_path / "two")


@pytest.fixture
def stopped_engine() -> Iterator[ObjectStore]:
    """Run an object store that a test may stop."""
    with run_object_store() as engine:
        yield engine


def store_content(store: BucketStore, content: bytes) -> str:
    part = store.create_partial()
    part.write(content)
    key = store.store(part)
    part.discard()
    return key


class CountingClient:
    """A client that counts the ranges that it fetches and otherwise delegates to the client of a store."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.ranges = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def get_range(self, *args: Any, **named: Any) -> Any:
        self.ranges += 1
        return self._client.get_range(*args, **named)


def test_a_blob_stored_by_one_machine_can_be_read_by_another(store: BucketStore, other: BucketStore) -> None:
    key = store_content(store, b"%PDF-1.7 the document")
    assert (other.find_size(key), other.exists(key)) == (21, True)
    with other.path(key).open("rb") as file:
        assert file.read() == b"%PDF-1.7 the document"
    assert b"".join(store.read_blocks(key)) == b"%PDF-1.7 the document"
    assert list(store.tmp.iterdir()) == []


def test_a_large_document_is_sent_and_fetched_in_parts(
    engine: ObjectStore, bucket: str, store: BucketStore, other: BucketStore
) -> None:
    content = os.urandom(1 << 20) * 20
    key = store_content(store, content)
    assert engine.open_bucket(bucket).head(key)["size"] == len(content)
    client = other._client = CountingClient(other._client)  # type: ignore[assignment]
    assert other.fetch(key).read_bytes() == content
    assert client.ranges == 3


def test_concurrent_readers_fetch_a_remote_document_once(store: BucketStore, other: BucketStore) -> None:
    key = store_content(store, b"x" * 5000)
    client = other._client = CountingClient(other._client)  # type: ignore[assignment]
    found: list[bytes] = []
    readers = [threading.Thread(target=lambda: found.append(other.fetch(key).read_bytes())) for _ in range(10)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join(30)
    assert (found, client.ranges) == ([b"x" * 5000] * 10, 1)


def test_the_uploading_machine_does_not_fetch_the_document(store: BucketStore) -> None:
    client = store._client = CountingClient(store._client)  # type: ignore[assignment]
    key = store_content(store, b"here")
    assert (store.fetch(key).read_bytes(), client.ranges) == (b"here", 0)


def test_a_deleted_blob_is_deleted_locally_and_in_the_bucket(store: BucketStore, other: BucketStore) -> None:
    key = store_content(store, b"secret")
    other.fetch(key)
    store.delete(key)
    store.delete(key)
    with pytest.raises(FileNotFoundError):
        store.fetch(key)
    assert not other.exists(key)
    assert other.delete_copies(lambda keys: set(keys)) == 0
    assert other.delete_copies(lambda keys: set()) == 1
    with pytest.raises(FileNotFoundError):
        other.path(key).open("rb")


def test_only_blobs_of_the_instance_are_listed(engine: ObjectStore, bucket: str, tmp_path: Path) -> None:
    store = open_store(engine, engine.make_url(bucket, "docs"), tmp_path)
    assert store.claim("instance-1") == "instance-1"
    engine.open_bucket(bucket).put("elsewhere/blob9999999999999999", b"another program's")
    keys = sorted(store_content(store, b"x") for _ in range(3))
    future = 10**14
    assert sorted(key for page in store.list_old(future) for key in page) == keys
    assert [key for page in store.list_old(0) for key in page] == []
    assert engine.list_keys(bucket) == sorted(
        ["docs/" + OWNER_NAME, *(f"docs/{key}" for key in keys), "elsewhere/blob9999999999999999"]
    )


def test_a_bucket_belongs_to_the_first_instance_that_uses_it(store: BucketStore, other: BucketStore) -> None:
    assert other.claim("two") == "one"
    assert store.claim("one") == "one"


def test_a_start_deletes_partial_files_of_this_machine_but_no_blobs(store: BucketStore) -> None:
    key = store_content(store, b"x")
    part = store.create_partial()
    part.write(b"half")
    assert store.sweep([]) == SweepResult(partials=1, orphans=0)
    assert (store.exists(key), list(store.tmp.iterdir())) == (True, [])
    part.discard()


def test_put_stores_a_blob_under_a_given_key(store: BucketStore, other: BucketStore) -> None:
    key = make_key()
    store.put(key, iter([b"a" * 1000, b"b" * 1000]))
    assert other.fetch(key).read_bytes() == b"a" * 1000 + b"b" * 1000
    with pytest.raises(ValueError, match="not a blob key"):
        store.put("../escape", [b""])


@pytest.mark.parametrize(("size", "is_multipart"), [(0, False), (8 << 20, False), ((8 << 20) + 1, True)])
def test_a_copy_is_sent_in_parts_only_if_it_is_larger_than_one(
    engine: ObjectStore, bucket: str, store: BucketStore, size: int, is_multipart: bool
) -> None:
    """An upload in parts takes three requests more."""
    key, content = make_key(), os.urandom(size)
    store.put(key, (content[begin : begin + 1_000_000] for begin in range(0, size, 1_000_000)))
    assert b"".join(store.read_blocks(key)) == content
    assert ("-" in str(engine.open_bucket(bucket).head(key)["e_tag"])) is is_multipart


def test_a_copy_whose_source_is_missing_is_not_reported_as_a_missing_bucket(store: BucketStore) -> None:
    def read_missing() -> Iterator[bytes]:
        raise FileNotFoundError
        yield b""

    with pytest.raises(FileNotFoundError):
        store.put(make_key(), read_missing())


@pytest.mark.parametrize(
    ("name", "environ", "message"),
    [
        ("missing-bucket", {}, "the bucket does not exist"),
        ("", {"AWS_SECRET_ACCESS_KEY": "wrong"}, "SignatureDoesNotMatch"),
        ("", {"AWS_ACCESS_KEY_ID": "test:nobody"}, "SignatureDoesNotMatch|InvalidAccessKeyId"),
    ],
)
def test_an_unusable_bucket_raises_a_readable_error(
    engine: ObjectStore, bucket: str, tmp_path: Path, name: str, environ: dict[str, str], message: str
) -> None:
    store = open_store(engine, engine.make_url(name or bucket), tmp_path, **environ)
    with pytest.raises(StorageUnreachableError, match=message) as caught:
        store.claim("one")
    assert "\n" not in str(caught.value)
    part = store.create_partial()
    part.write(b"x")
    with pytest.raises(StorageUnreachableError):
        store.store(part)
    part.discard()
    assert list(store.tmp.iterdir()) == []


def test_only_local_copies_can_be_read_while_the_store_is_down(
    stopped_engine: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket = stopped_engine.create_bucket()
    store = open_store(stopped_engine, stopped_engine.make_url(bucket), tmp_path / "one")
    other = open_store(stopped_engine, stopped_engine.make_url(bucket), tmp_path / "two")
    assert store.claim("one") == "one"
    key, absent = store_content(store, b"x"), make_key()
    assert store.is_writable()
    stopped_engine.stop()
    assert store.fetch(key).read_bytes() == b"x"
    monkeypatch.setattr(store, "_health", (-10.0, True))
    assert not store.is_writable()
    for fails in (lambda: other.fetch(key), lambda: store.exists(absent), lambda: store.delete(absent)):
        with pytest.raises(StorageUnreachableError) as caught:
            fails()
        problem = faults.to_problem(caught.value)
        assert problem is not None
        assert (problem.code, problem.headers["Retry-After"]) == ("unavailable", "30")
    stopped_engine.start()
    assert other.fetch(key).read_bytes() == b"x"
    assert other.is_writable()


def test_a_store_that_does_not_respond_times_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bucket_module, "_READ_TIMEOUT_S", 1)
    with run_silent_server() as address:
        url = f"s3://bucket?endpoint={address.replace('redis://', 'http://')}"
        environ = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
        parsed = parse_storage_url(url)
        assert not isinstance(parsed, Path)
        store = BucketStore(parsed, tmp_path, make_key, environ)
        with pytest.raises(StorageUnreachableError, match="error"):
            store.exists(make_key())


def test_credentials_are_read_from_the_aws_configuration_files(
    engine: ObjectStore, bucket: str, tmp_path: Path
) -> None:
    credentials, settings = tmp_path / "credentials", tmp_path / "config"
    credentials.write_text(
        "[default]\naws_access_key_id = wrong\naws_secret_access_key = wrong\n"
        "[docs]\naws_access_key_id = test:tester\naws_secret_access_key = testing\n"
    )
    settings.write_text("[profile docs]\nregion = us-east-1\n")
    environ = {
        "AWS_SHARED_CREDENTIALS_FILE": str(credentials), "AWS_CONFIG_FILE": str(settings), "AWS_PROFILE": "docs",
    }  # fmt: skip
    address = parse_storage_url(engine.make_url(bucket).replace("&region=us-east-1", ""))
    assert not isinstance(address, Path)
    store = BucketStore(address, tmp_path, make_key, environ)
    assert store.claim("one") == "one"


class _EndedObject(BaseHTTPRequestHandler):
    """Responds to a request for any range of an object of eight bytes with no byte, and after 20 with all of them."""

    protocol_version = "HTTP/1.1"
    requests = 0

    def do_HEAD(self) -> None:
        self._answer(200, b"document")

    def do_GET(self) -> None:
        _EndedObject.requests += 1
        self._answer(206, b"document" if _EndedObject.requests > 20 else b"")

    def _answer(self, status: int, content: bytes) -> None:
        self.send_response(status)
        self.send_header("ETag", '"1"')
        self.send_header("Last-Modified", formatdate(usegmt=True))
        self.send_header("Content-Length", str(len(content)))
        if status == 206:
            self.send_header("Content-Range", "bytes 0-7/8")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, *args: object) -> None:
        return


def test_an_object_that_ends_too_early_is_an_error(engine: ObjectStore, tmp_path: Path) -> None:
    """A thread that requests the rest without end would be lost, and with each reader of the document another one."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _EndedObject) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            store = open_store(engine, f"s3://docs?endpoint=http://127.0.0.1:{server.server_port}", tmp_path)
            with pytest.raises(StorageUnreachableError, match="ends after 0 of 8 bytes"):
                store.fetch(make_key())
            assert os.listdir(tmp_path / "copies") == []
        finally:
            server.shutdown()
            thread.join()


def test_a_slow_bucket_is_unreachable_for_more_readers_than_may_wait(
    tmp_path: Path, engine: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blob_cache, "PATIENCE_S", 0.05)
    monkeypatch.setattr(bucket_module, "_READ_TIMEOUT_S", 2)
    with run_silent_server() as address:
        store = open_store(engine, f"s3://docs?endpoint={address.replace('redis', 'http')}", tmp_path, max_fetches=1)
        with ThreadPoolExecutor() as pool:
            waiting = pool.submit(store.fetch, make_key())
            wait_until(lambda: list(tmp_path.glob("copies/*.part")))
            with pytest.raises(StorageUnreachableError, match="other requests wait"):
                store.fetch(make_key())
            assert isinstance(waiting.exception(60), StorageUnreachableError)
