"""An instance that stores its documents in a bucket, or in a shared folder."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import requests

from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.object_store import ObjectStore, run_object_store
from tests.support.polling import wait_until
from tests.support.ports import find_free_port
from tests.support.servers.server_process import ServerProcess, make_env, run_admin, run_docshare, run_server
from tests.support.servers.tls import make_signed_context, terminate_tls


@pytest.fixture(scope="module")
def engine() -> Iterator[ObjectStore]:
    """Yield a separate object store, which tests may stop."""
    with run_object_store() as engine:
        yield engine


def upload(server: ServerProcess, content: bytes, name: str = "report.pdf") -> requests.Response:
    return requests.post(
        f"{server.url}/api/v1/files", headers=server.headers, files={"file": (name, content)}, timeout=60
    )


def get_json(server: ServerProcess, path: str) -> Any:
    return requests.get(f"{server.url}{path}", headers=server.headers, timeout=30).json()


def list_documents(engine: ObjectStore, bucket: str) -> list[str]:
    return [key for key in engine.list_keys(bucket) if key != "docshare-instance"]


def test_documents_are_stored_only_in_the_bucket(engine: ObjectStore, tmp_path: Path) -> None:
    bucket = engine.create_bucket()
    environ = engine.environ | {"DOCSHARE_STORAGE_URL": engine.make_url(bucket)}
    with run_server(tmp_path, **environ) as server:
        sent = upload(server, simple_pdf(pages=3))
        assert sent.status_code == 200, sent.text
        share = sent.json()["shareUrl"]
        assert len(list_documents(engine, bucket)) == 1
        assert [path for path in (tmp_path / "data" / "blobs").rglob("*") if path.is_file()] == []
    for copy in (tmp_path / "data" / "copies").iterdir():
        copy.unlink()  # as if the machine were new
    with run_server(tmp_path, **environ) as server:
        page = requests.get(f"{share.replace(share[: share.rindex('/')], server.url)}/pages/2-800.jpg?v=1", timeout=60)
        assert (page.status_code, page.headers["Content-Type"]) == (200, "image/jpeg")
        uuid = sent.json()["uuid"]
        content = requests.get(f"{server.url}/api/v1/files/{uuid}/content", headers=server.headers, timeout=60)
        assert content.content == simple_pdf(pages=3)
        purged = requests.delete(f"{server.url}/api/v1/files/{uuid}?purge=1", headers=server.headers, timeout=30)
        assert purged.status_code == 200
        assert list_documents(engine, bucket) == []
        assert list((tmp_path / "data" / "copies").iterdir()) == []


def test_an_unreachable_store_returns_503_and_loses_no_document(engine: ObjectStore, tmp_path: Path) -> None:
    """Uploads fail without leftovers, cached documents stay readable, and deletions are completed later."""
    bucket = engine.create_bucket()
    with run_server(tmp_path, **engine.environ, DOCSHARE_STORAGE_URL=engine.make_url(bucket)) as server:
        kept, doomed = (upload(server, simple_pdf(pages=2)).json()["uuid"] for _ in range(2))
        engine.stop()
        refused = upload(server, simple_pdf(pages=1))
        assert (refused.status_code, refused.json()["code"]) == (503, "unavailable")
        assert "Retry-After" in refused.headers
        assert refused.json()["detail"] == "The server cannot reach its storage."
        assert list((tmp_path / "data" / "tmp").iterdir()) == []
        page = requests.get(f"{server.url}/{kept}/pages/1-800.jpg?v=1", timeout=60)
        assert page.status_code == 200
        purged = requests.delete(f"{server.url}/api/v1/files/{doomed}?purge=1", headers=server.headers, timeout=30)
        assert purged.status_code == 200
        wait_until(lambda: requests.get(f"{server.url}/healthz", timeout=30).status_code == 503)
        details = requests.get(f"{server.url}/healthz?details", timeout=30)
        assert (details.json()["storage"], details.headers["Retry-After"]) == (False, "5")
        assert [file["uuid"] for file in get_json(server, "/api/v1/files")] == [kept]
        engine.start()
        wait_until(lambda: requests.get(f"{server.url}/healthz", timeout=30).status_code == 200)
        wait_until(lambda: len(list_documents(engine, bucket)) == 1)
        assert upload(server, simple_pdf(pages=1)).status_code == 200


def test_an_unusable_bucket_is_reported_in_one_error(engine: ObjectStore, tmp_path: Path) -> None:
    bucket = engine.create_bucket()
    url = engine.make_url(bucket)
    mine = make_env(tmp_path, **engine.environ)
    for code, environ, words in (
        (11, {"DOCSHARE_STORAGE_URL": engine.make_url("missing-bucket")}, "the bucket does not exist"),
        (11, {"DOCSHARE_STORAGE_URL": url, "AWS_SECRET_ACCESS_KEY": "wrong"}, "SignatureDoesNotMatch"),
        (2, {"DOCSHARE_STORAGE_URL": "s3://"}, "expected an address like s3://bucket"),
        (2, {"DOCSHARE_STORAGE_URL": "s3://key:secret@bucket"}, "expected the name of a bucket alone"),
        (2, {"DOCSHARE_STORAGE_URL": "s3://bucket?acl=public"}, "unknown option 'acl'"),
        (2, {"DOCSHARE_STORAGE_URL": "s3://bucket/../other"}, "must not contain '//', '.' or '..'"),
        (2, {"DOCSHARE_STORAGE_URL": "ftp://host/folder"}, "expected an address like s3://bucket"),
        (2, {"DOCSHARE_STORAGE_URL": f"file://{tmp_path}/missing"}, "no such folder"),
        (11, {"DOCSHARE_STORAGE_URL": "s3://bucket?endpoint=http://127.0.0.1:9"}, "reached: Connection refused"),
    ):
        done = run_docshare("serve", "--port", "0", env=mine | environ)
        assert (done.returncode, words in done.stderr, "Traceback" in done.stderr) == (code, True, False), done.stderr
        assert len(done.stderr.strip().splitlines()) <= 2, done.stderr


def test_a_store_with_the_certificate_of_a_private_authority_requires_the_ca_bundle(
    engine: ObjectStore, tmp_path: Path
) -> None:
    context, authority = make_signed_context(tmp_path, "localhost")
    port = find_free_port()
    url = engine.make_url(engine.create_bucket()).replace(
        quote(engine.endpoint, safe=""), quote(f"https://localhost:{port}", safe="")
    )
    env = make_env(tmp_path, DOCSHARE_STORAGE_URL=url, **engine.environ)
    with terminate_tls(context, port, engine.ports["proxy"]):
        done = run_docshare("serve", "--port", "0", env=env)
        assert (done.returncode, "InvalidCertificate: UnknownIssuer" in done.stderr) == (11, True), done.stderr
        run_admin(env | {"DOCSHARE_CA_BUNDLE": str(authority)}, "account", "create", "ada@example.com")


def test_a_store_with_documents_of_another_database_is_rejected(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    with run_server(tmp_path / "one", DOCSHARE_STORAGE_URL=shared.as_uri()) as server:
        assert upload(server, simple_pdf(pages=1)).status_code == 200
    assert len([path for path in (shared / "blobs").rglob("*") if path.is_file()]) == 1
    env = make_env(tmp_path / "two", DOCSHARE_STORAGE_URL=shared.as_uri())
    done = run_docshare("serve", "--port", "0", env=env)
    assert (done.returncode, "documents of another database" in done.stderr) == (2, True), done.stderr


def test_documents_move_into_a_bucket_and_back(engine: ObjectStore, tmp_path: Path) -> None:
    with run_server(tmp_path) as server:
        uuids = [upload(server, simple_pdf(pages=n)).json()["uuid"] for n in (1, 2, 3)]
        token = server.token
    bucket, data = engine.create_bucket(), str(tmp_path / "data")
    url = engine.make_url(bucket, "docs")
    env = make_env(tmp_path, **engine.environ)
    moved = run_docshare("admin", "move", "--data", data, "--to-storage", url, "--json", env=env)
    assert (moved.returncode, json.loads(moved.stdout)["documents"]) == (0, 3), moved.stderr
    again = run_docshare("admin", "move", "--data", data, "--to-storage", url, "--json", env=env)
    assert again.returncode == 0, again.stderr
    there = env | {"DOCSHARE_STORAGE_URL": url}
    checked = run_docshare("admin", "check", "--data", data, "--json", env=there)
    assert checked.returncode == 0, checked.stdout
    saved = run_docshare("admin", "backup", str(tmp_path / "saved.tar"), "--data", data, "--json", env=there)
    assert (saved.returncode, json.loads(saved.stdout)["blobs"]) == (0, 3), saved.stderr
    back = run_docshare("admin", "move", "--data", data, "--to-data", str(tmp_path / "back"), env=there)
    assert back.returncode == 0, back.stderr
    with run_server(tmp_path / "other", data_dir=tmp_path / "back") as server:
        headers = {"Authorization": f"Bearer {token}"}
        for number, uuid in enumerate(uuids, start=1):
            found = requests.get(f"{server.url}/api/v1/files/{uuid}/content", headers=headers, timeout=30)
            assert found.content == simple_pdf(pages=number)


def test_check_reports_missing_and_changed_objects(engine: ObjectStore, tmp_path: Path) -> None:
    bucket = engine.create_bucket()
    environ = engine.environ | {"DOCSHARE_STORAGE_URL": engine.make_url(bucket)}
    with run_server(tmp_path, **environ) as server:
        uuids = [upload(server, simple_pdf(pages=n)).json()["uuid"] for n in (1, 2)]
        client = engine.open_bucket(bucket)
        missing, changed = list_documents(engine, bucket)
        client.delete(missing)
        client.put(changed, b"x" * client.head(changed)["size"])
        done = run_docshare("admin", "check", "--json", env=make_env(tmp_path, **environ))
        assert done.returncode == 13
        found = [row["detail"] for row in json.loads(done.stdout) if row["check"] == "content"]
        assert len(found) == 2
        assert any("is missing from the store" in detail for detail in found)
        assert any("its content is not what was uploaded" in detail for detail in found)
        assert {uuid in "".join(found) for uuid in uuids} == {True}
        copies = tmp_path / "data" / "copies"
        for copy in copies.iterdir():
            copy.unlink()
        statuses = [requests.get(f"{server.url}/{uuid}/pages/1-800.jpg?v=1", timeout=60).status_code for uuid in uuids]
        assert all(status in (422, 503) for status in statuses), statuses


def test_a_damaged_local_copy_is_fetched_again(engine: ObjectStore, tmp_path: Path) -> None:
    """The bucket has the intact bytes, or gets them from the operator, while the copy would stay for weeks."""
    environ = engine.environ | {"DOCSHARE_STORAGE_URL": engine.make_url(engine.create_bucket())}
    with run_server(tmp_path, **environ) as server:
        uuid = upload(server, simple_pdf(pages=3)).json()["uuid"]
        copies = tmp_path / "data" / "copies"
        whole = {copy.name: copy.read_bytes() for copy in copies.iterdir()}
        paths = (f"/{uuid}/pages/2-800.jpg?v=1", f"/{uuid}/text/3.json?v=1", f"/api/v1/files/{uuid}/content")
        for path in paths:
            for name, content in whole.items():
                (copies / name).write_bytes(content[:-40] + bytes(40))
            requests.get(f"{server.url}{path}", headers=server.headers, timeout=60)  # may report the damage
            found = requests.get(f"{server.url}{path}", headers=server.headers, timeout=60)
            assert found.status_code == 200, (path, found.text)
            assert {copy.name: copy.read_bytes() for copy in copies.iterdir()} == whole


def test_a_backup_does_not_contain_a_damaged_local_copy(engine: ObjectStore, tmp_path: Path) -> None:
    environ = engine.environ | {"DOCSHARE_STORAGE_URL": engine.make_url(engine.create_bucket())}
    env, place = make_env(tmp_path, **environ), tmp_path / "new"
    with run_server(tmp_path, **environ) as server:
        uuid = upload(server, simple_pdf(pages=3)).json()["uuid"]
        for copy in (tmp_path / "data" / "copies").iterdir():
            copy.write_bytes(copy.read_bytes()[:-40] + bytes(40))
        done = run_docshare("admin", "backup", str(tmp_path / "saved.tar"), env=env)
        assert done.returncode == 0, done.stderr
    restored = make_env(tmp_path / "alone")
    done = run_docshare("admin", "--data", str(place), "restore", str(tmp_path / "saved.tar"), "--yes", env=restored)
    assert done.returncode == 0, done.stderr
    with run_server(tmp_path / "alone", data_dir=place) as server:
        found = requests.get(f"{server.url}/api/v1/files/{uuid}/content", headers=server.headers, timeout=30)
        assert found.content == simple_pdf(pages=3)
