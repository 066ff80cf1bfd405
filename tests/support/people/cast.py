"""The people of the tests: Fay (Free), Bea (Basic), Pia (Pro) and Mal, a stranger on Pro."""

import io
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from docshare.contract.plans import Plan
from docshare.server import runtime as outside
from docshare.server.app import create_app, set_runtime
from docshare.server.config import Config
from docshare.server.http.proxy_probes import Probes
from docshare.server.outbound.exchange import OutboundClient
from docshare.server.outbound.jwts import TokenVerifier
from docshare.server.outbound.mail import Mailer
from docshare.server.pdf.engine import PdfEngine
from docshare.server.pdf.pages import PageStore
from docshare.server.runtime import Runtime
from docshare.server.services.accounts import accounts
from docshare.server.store.database import Store
from docshare.server.store.identity import instance_key
from docshare.server.store.migrations import migrate
from tests.support.clock import FakeClock
from tests.support.documents.pdfs import simple_pdf
from tests.support.polling import wait_until

BASE_URL = "http://127.0.0.1:8787"
_METADATA = f'resource_metadata="{BASE_URL}/.well-known/oauth-protected-resource"'
NO_CREDENTIAL = f"Bearer {_METADATA}"
INVALID_TOKEN = f'Bearer error="invalid_token", {_METADATA}'
"""``WWW-Authenticate`` of a 401: without a credential, and with an invalid one."""
PEOPLE = {"fay": Plan.FREE, "bea": Plan.BASIC, "pia": Plan.PRO, "mal": Plan.PRO}


@dataclass
class Person:
    """An account with one API key, and the requests it makes."""

    email: str
    uuid: str
    key: str
    http: FlaskClient

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}

    def get(self, path: str, **more: Any) -> TestResponse:
        return self.http.get(path, headers=self.headers | more.pop("headers", {}), **more)

    def delete(self, path: str, **more: Any) -> TestResponse:
        return self.http.delete(path, headers=self.headers, **more)

    def post(self, path: str, **more: Any) -> TestResponse:
        return self.http.post(path, headers=self.headers | more.pop("headers", {}), **more)

    def put(self, path: str, **more: Any) -> TestResponse:
        return self.http.put(path, headers=self.headers | more.pop("headers", {}), **more)

    def upload(self, content: bytes | None = None, name: str = "report.pdf") -> dict[str, Any]:
        """Upload a PDF (three pages unless given) and return the upload result."""
        body = simple_pdf(pages=3) if content is None else content
        answer = self.post("/api/v1/files", data={"file": (io.BytesIO(body), name)})
        assert answer.status_code == 200, answer.get_data(as_text=True)
        result: dict[str, Any] = answer.get_json()
        return result

    def replace(self, uuid: str, content: bytes, name: str = "second.pdf") -> dict[str, Any]:
        """Replace the document of a file and return the result."""
        answer = self.post(f"/api/v1/files/{uuid}/content", data={"file": (io.BytesIO(content), name)})
        assert answer.status_code == 200, answer.get_data(as_text=True)
        result: dict[str, Any] = answer.get_json()
        return result


@dataclass
class World:
    """One instance with its people; ``http`` is a visitor without credentials."""

    rt: Runtime
    app: Flask
    clock: FakeClock
    http: FlaskClient
    fay: Person
    bea: Person
    pia: Person
    mal: Person


# Creating these for every test would take longer than most tests: the empty database after all migrations, and
# applications that no test uses now.
_schema: bytes | None = None
_idle_apps: list[Flask] = []


def make_store(path: Path) -> Store:
    """Return the store of a new instance: a SQLite file, or a database of a PostgreSQL server if the run has one."""
    if os.environ.get("DOCSHARE_TEST_DATABASE"):
        from tests.support.engines import postgresql

        return postgresql.make_store(str(path))
    return Store(path)


def _make_storage_url(data_dir: Path) -> str:
    """Return the URL of an empty store: a bucket if the run is configured for one, otherwise a directory."""
    if os.environ["DOCSHARE_TEST_STORAGE"] != "bucket":
        (data_dir / "shared").mkdir(exist_ok=True)
        return (data_dir / "shared").as_uri()
    from tests.support.engines.object_store import start_object_store

    store = start_object_store()
    os.environ.update(store.environ)
    return store.make_url(store.shared_bucket, prefix=data_dir.as_posix().strip("/").replace("/", "-"))


def make_runtime(data_dir: Path, clock: FakeClock, engine: PdfEngine, **settings: Any) -> Runtime:
    """Return a runtime on a real database in ``data_dir``, with ``clock``. If the run is configured for it, its rate
    limits are in Redis and its documents in a bucket."""
    global _schema
    for name in ("blobs", "tmp", "cache"):
        (data_dir / name).mkdir(parents=True, exist_ok=True)
    instance_key(data_dir)
    if os.environ.get("DOCSHARE_TEST_REDIS"):
        from tests.support.engines.redis import start_for_run

        settings = {"redis_url": start_for_run()} | settings
    if os.environ.get("DOCSHARE_TEST_STORAGE"):
        settings = {"storage_url": _make_storage_url(data_dir)} | settings
    config = Config(**({"data_dir": data_dir, "base_url": BASE_URL} | settings))
    if _schema is not None and not config.database_path.exists():
        config.database_path.write_bytes(_schema)
    outbound = OutboundClient(config.ca_bundle)
    vault = outside.open_vault(config, may_create=True)
    shared = outside.open_shared_memory(config, vault)
    if shared is not None:
        shared.start()
    runtime = Runtime(
        config=config,
        clock=clock,
        random_token=outside.random_token,
        random_uuid=outside.random_uuid,
        random_bytes=outside.random_bytes,
        db=make_store(config.database_path),
        blobs=outside.open_blobs(config),
        engine=engine,
        pages=PageStore(engine, data_dir / "cache"),
        converter=outside.make_converter(config),
        outbound=outbound,
        jwts=TokenVerifier(outbound, clock),
        mailer=Mailer(config.smtp_url, config.ca_bundle),
        vault=vault,
        locate={"203.0.113.7": "DE"}.get,
        limits=outside.build_limiter(clock, shared),
        shared=shared,
        probes=Probes(shared),
    )
    migrate(runtime.db)
    if os.environ.get("DOCSHARE_TEST_DATABASE"):
        return runtime
    if _schema is None:
        runtime.db.truncate_wal()
        _schema = config.database_path.read_bytes()
    return runtime


def make_world(runtime: Runtime, clock: FakeClock) -> World:
    """Return the application on ``runtime`` with the accounts of the whole cast."""
    app = _idle_apps.pop() if _idle_apps else create_app(runtime)
    set_runtime(app, runtime)
    with runtime.db.write():
        people = {name: _create_person(runtime, app, name, plan) for name, plan in PEOPLE.items()}
    return World(rt=runtime, app=app, clock=clock, http=app.test_client(), **people)


def stop_background_rendering(world: World) -> None:
    """End the threads that render pages ahead and try copies, and wait for their running jobs."""
    pages = world.rt.pages
    pages.close()
    wait_until(lambda: pages._prefetcher._thread is pages._trials._thread is None)


def close_world(world: World) -> None:
    """Close what ``world`` holds; its application is free for another."""
    world.rt.converter.close()
    world.rt.pages.close()
    world.rt.db.close()
    if world.rt.shared is not None:
        world.rt.shared.close()
    if os.environ.get("DOCSHARE_TEST_DATABASE"):
        from tests.support.engines import postgresql

        postgresql.drop_store(str(world.rt.config.database_path))
    _idle_apps.append(world.app)


def _create_person(runtime: Runtime, app: Flask, name: str, plan: Plan) -> Person:
    account = accounts.create_account(runtime, f"{name}@example.com", name.title(), plan)
    key = accounts.create_key(runtime, account.email, "tests").key
    return Person(email=account.email, uuid=account.uuid, key=key, http=app.test_client())
