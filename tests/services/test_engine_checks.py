"""``docshare doctor`` on an instance with a bucket and Redis: one test per finding."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from docshare.server import runtime as outside
from docshare.server.backup.reading import IDENTITY_SECRET, hash_identity
from docshare.server.runtime import Runtime
from docshare.server.services.operations import diagnosis, engine_checks
from docshare.server.services.operations.secrets import instance_secret
from docshare.server.store.blobs import StorageUnreachableError
from tests.support.engines.object_store import start_object_store
from tests.support.engines.redis import run_redis
from tests.support.people.cast import World


def read_row(rt: Runtime, check: str) -> dict[str, Any]:
    (row,) = [row for row in diagnosis.run_checks(rt, {}) if row["check"] == check]
    return row


@pytest.fixture
def bucket_runtime(world: World, monkeypatch: pytest.MonkeyPatch) -> Runtime:
    engine = start_object_store()
    for name, value in engine.environ.items():
        monkeypatch.setenv(name, value)
    config = replace(world.rt.config, storage_url=engine.make_url(engine.create_bucket()))
    blobs = outside.open_blobs(config)
    blobs.claim(hash_identity(instance_secret(world.rt, IDENTITY_SECRET)))  # as an instance does when it starts
    return replace(world.rt, config=config, blobs=blobs)


@pytest.fixture
def shared_runtime(world: World, patient_redis: None) -> Iterator[Runtime]:
    with run_redis() as redis:
        config = replace(world.rt.config, redis_url=redis.url)
        shared = outside.open_shared_memory(config, world.rt.vault)
        assert shared is not None
        shared.start()
        yield replace(world.rt, config=config, shared=shared)
        shared.close()


def test_a_bucket_that_works_is_reported_with_its_latency(bucket_runtime: Runtime) -> None:
    row = read_row(bucket_runtime, "storage")
    assert row["detail"].startswith("the storage answers in "), row
    assert row["level"] != "error", row  # on a busy machine it is slow, which is a warning


def test_a_bucket_that_rejects_the_credentials_is_an_error(
    world: World, bucket_runtime: Runtime, monkeypatch: Any
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    row = read_row(replace(bucket_runtime, blobs=outside.open_blobs(bucket_runtime.config)), "storage")
    assert (row["level"], "the storage cannot be used: " in row["detail"]) == ("error", True), row
    assert "DOCSHARE_STORAGE_URL" in row["fix"]


def test_a_storage_folder_that_is_not_writable_is_an_error(world: World, tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    config = replace(world.rt.config, storage_url=folder.as_uri())
    runtime = replace(world.rt, config=config, blobs=outside.open_blobs(config))
    assert read_row(runtime, "storage")["ok"]
    (folder / "docshare-instance").unlink()
    (folder / "docshare-instance").mkdir()
    assert read_row(runtime, "storage")["level"] == "error"


def test_redis_that_works_is_reported_with_its_latency(shared_runtime: Runtime) -> None:
    row = read_row(shared_runtime, "redis")
    assert row["ok"], row
    assert re.fullmatch(r"Redis [6-9]\.\S+ answers in [\d.]+ ms", row["detail"]), row
    assert read_row(shared_runtime, "redis-tls")["detail"] == "the connection does not leave this machine"


def test_a_redis_user_without_rights_is_a_warning_with_the_reason(world: World, patient_redis: None) -> None:
    with run_redis() as redis:
        redis.run("ACL", "SETUSER", "plain", "on", ">pw", "~*", "+ping", "+select", "+client")
        config = replace(world.rt.config, redis_url=redis.url.replace("//", "//plain:pw@"))
        shared = outside.open_shared_memory(config, world.rt.vault)
        assert shared is not None
        shared.start()
        row = read_row(replace(world.rt, config=config, shared=shared), "redis")
        shared.close()
    assert (row["level"], "permissions" in row["detail"]) == ("warning", True), row


@pytest.mark.parametrize(
    ("url", "level"),
    [
        ("redis://127.0.0.1:6379/0", "info"),
        ("redis://localhost", "info"),
        ("redis://:secret@cache.example:6379/0", "warning"),
        ("rediss://:secret@cache.example:6379/0", "info"),
    ],
)
def test_redis_on_another_machine_requires_tls(world: World, url: str, level: str) -> None:
    row = engine_checks.check_redis_tls(replace(world.rt, config=replace(world.rt.config, redis_url=url)), {})
    assert (row.level, level == "info" or "rediss://" in row.fix) == (level, True)
    assert "secret" not in row.detail + row.fix


@pytest.mark.parametrize(
    ("url", "is_encrypting", "level"),
    [
        ("s3://docs", False, "info"),
        ("s3://docs?endpoint=https://s3.example.com", False, "info"),
        ("s3://docs?endpoint=http://127.0.0.1:9000", False, "info"),
        ("s3://docs?endpoint=http://s3.example.com", True, "warning"),
        ("s3://docs?endpoint=http://s3.example.com", False, "error"),
        ("file:///srv/docs", False, "info"),
    ],
)
def test_a_bucket_on_another_machine_requires_tls(world: World, url: str, is_encrypting: bool, level: str) -> None:
    config = replace(world.rt.config, storage_url=url, encryption=is_encrypting)
    row = engine_checks.check_storage_tls(replace(world.rt, config=config), {})
    assert (row.level, level == "info" or "https://" in row.fix) == (level, True)


@pytest.mark.parametrize("right", ["list_old", "delete"])
def test_credentials_that_cannot_list_or_delete_are_an_error(
    bucket_runtime: Runtime, monkeypatch: pytest.MonkeyPatch, right: str
) -> None:
    def refuse(_: object) -> Iterator[list[str]]:
        raise StorageUnreachableError("AccessDenied: Access Denied.")

    monkeypatch.setattr(bucket_runtime.blobs, right, refuse)
    row = read_row(bucket_runtime, "storage")
    assert (row["level"], "would stay in the storage: AccessDenied" in row["detail"]) == ("error", True), row


def test_unreachable_redis_is_a_warning(world: World) -> None:
    config = replace(world.rt.config, redis_url="redis://127.0.0.1:9/0")
    shared = outside.open_shared_memory(config, world.rt.vault)
    row = read_row(replace(world.rt, config=config, shared=shared), "redis")
    assert (row["level"], "each instance enforces rate limits separately" in row["detail"]) == ("warning", True), row


def test_an_instance_without_bucket_and_redis_has_no_checks_for_them(world: World) -> None:
    names = {row["check"] for row in diagnosis.run_checks(replace(world.rt, shared=None), {})}
    # With a shared database, doctor also reports whose folder has the documents.
    absent = {"redis", "redis-tls", "storage-tls"} | (set() if world.rt.db.is_shared else {"storage"})
    assert names.isdisjoint(absent) or world.rt.blobs.is_shared
