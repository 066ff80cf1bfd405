"""``docshare doctor`` on an instance with a bucket and Redis: one test per finding."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from docshare.server import runtime as outside
from docshare.server.backup.reading import IDENTITY_SECRET, hash_identity
from docshare.server.runtime import Runtime
from docshare.server.services.operations import diagnosis
from docshare.server.services.operations.secrets import instance_secret
from tests.support.cast import World
from tests.support.object_store import start_object_store
from tests.support.redis import run_redis


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
def shared_runtime(world: World) -> Iterator[Runtime]:
    with run_redis() as redis:
        config = replace(world.rt.config, redis_url=redis.url)
        shared = outside.open_shared_memory(config, world.rt.vault)
        assert shared is not None
        shared.start()
        yield replace(world.rt, config=config, shared=shared)
        shared.close()


def test_a_bucket_that_works_is_reported_with_its_latency(bucket_runtime: Runtime) -> None:
    row = read_row(bucket_runtime, "storage")
    assert (row["ok"], row["detail"].startswith("the storage answers in ")) == (True, True), row


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
    assert (row["ok"], row["detail"].startswith("Redis answers in ")) == (True, True), row


def test_unreachable_redis_is_a_warning(world: World) -> None:
    config = replace(world.rt.config, redis_url="redis://127.0.0.1:9/0")
    shared = outside.open_shared_memory(config, world.rt.vault)
    row = read_row(replace(world.rt, config=config, shared=shared), "redis")
    assert (row["level"], "each instance enforces rate limits separately" in row["detail"]) == ("warning", True), row


def test_an_instance_without_bucket_and_redis_has_no_checks_for_them(world: World) -> None:
    names = {row["check"] for row in diagnosis.run_checks(replace(world.rt, shared=None), {})}
    # With a shared database, doctor also reports whose folder has the documents.
    absent = {"redis"} if world.rt.db.is_shared else {"redis", "storage"}
    assert names.isdisjoint(absent) or world.rt.blobs.is_shared
