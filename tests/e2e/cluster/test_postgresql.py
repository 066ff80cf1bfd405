"""An instance that stores its rows in PostgreSQL."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.postgresql import drop_store, make_store, open_database
from tests.support.polling import wait_until
from tests.support.servers.server_process import make_env, run_docshare, start_server


@pytest.fixture
def address() -> Iterator[str]:
    """Yield the address of an empty database."""
    with open_database("e2e") as address:
        yield address


def test_a_server_stores_its_rows_in_postgresql(address: str, tmp_path: Path) -> None:
    (tmp_path / "report.pdf").write_bytes(simple_pdf(pages=2))
    env = make_env(tmp_path, DOCSHARE_DATABASE_URL=address)
    for run in range(2):
        server, _ = start_server("--port", "0", env=env)
        try:
            if run == 0:
                done = run_docshare("upload", str(tmp_path / "report.pdf"), "--views", "3", env=env)
                assert done.returncode == 0, done.stderr
            listed = run_docshare("files", "list", "--json", env=env)
            assert '"originalName":"report.pdf"' in listed.stdout, listed
        finally:
            server.terminate()
            server.communicate(timeout=30)
        assert server.returncode == 0
    assert not (tmp_path / "data" / "docshare.db").exists()
    accounts = run_docshare("admin", "account", "list", "--json", env=env)
    assert (accounts.returncode, accounts.stdout.count("@")) == (0, 1), accounts.stderr


def test_commands_that_need_a_running_server_reach_it_through_the_database(address: str, tmp_path: Path) -> None:
    """They do not depend on the address of the server, and a listener outlives its restart."""
    (tmp_path / "report.pdf").write_bytes(simple_pdf(pages=2))
    env, announcement = make_env(tmp_path, DOCSHARE_DATABASE_URL=address), tmp_path / "data" / "server.json"
    trigger = ("trigger", "file.downloaded", "--file", "@last", "--wait")
    server, _ = start_server("--port", "0", env=env)
    try:
        assert run_docshare("upload", str(tmp_path / "report.pdf"), env=env).returncode == 0
        with subprocess.Popen(
            [sys.executable, "-m", "docshare", "webhooks", "listen", "--exit-after", "2", "--json", "--quiet"],
            env=env, stdout=subprocess.PIPE, text=True,
        ) as listening:  # fmt: skip
            wait_until(lambda: _count_listeners(address) == 1)
            for run in range(2):
                if run:
                    server.terminate()
                    server.communicate(timeout=30)
                    server, _ = start_server("--port", "0", env=env)
                wrong = json.loads(announcement.read_text()) | {"url": "http://127.0.0.1:9"}
                announcement.write_text(json.dumps(wrong))
                done = run_docshare(*trigger, env=env)
                assert done.returncode == 0, done.stderr
            shown, _ = listening.communicate(timeout=30)
    finally:
        server.terminate()
        server.communicate(timeout=30)
    assert [json.loads(line)["kind"] for line in shown.splitlines()] == ["file.downloaded"] * 2
    assert _count_listeners(address) == 0


def _count_listeners(address: str) -> int:
    with psycopg.connect(address) as connection:
        found = connection.execute("SELECT count(*) FROM webhooks WHERE listens_until IS NOT NULL").fetchone()
    assert found is not None
    return int(found[0])


def test_a_command_without_the_address_of_the_database_changes_nothing(address: str, tmp_path: Path) -> None:
    """It would take the documents for leftovers of an empty database."""
    (tmp_path / "report.pdf").write_bytes(simple_pdf(pages=2))
    env, data = make_env(tmp_path, DOCSHARE_DATABASE_URL=address), tmp_path / "data"
    server, _ = start_server("--port", "0", env=env)
    try:
        assert run_docshare("upload", str(tmp_path / "report.pdf"), env=env).returncode == 0
    finally:
        server.terminate()
        server.communicate(timeout=30)
    before = sorted(data.rglob("*"))
    without = make_env(tmp_path)
    for command in (
        ("serve", "--port", "0"),
        *(("admin", *words) for words in (("account", "list"), ("sweep",), ("backup", str(tmp_path / "b.tar")))),
        *(("admin", *words) for words in (("check",), ("move", "--to-data", str(tmp_path / "new")))),
        ("admin", "restore", str(tmp_path / "report.pdf"), "--yes"),
    ):
        done = run_docshare(*command, env=without)
        assert (done.returncode, "set DOCSHARE_DATABASE_URL as for the server" in done.stderr) == (2, True), done
        assert "secret" not in done.stderr
        assert sorted(data.rglob("*")) == before
    checked = run_docshare("doctor", "--data", str(data), env=without)
    assert (checked.returncode, "set DOCSHARE_DATABASE_URL as for the server" in checked.stdout) == (13, True), checked
    assert sorted(data.rglob("*")) == before
    (data / "database-address").unlink()
    done = run_docshare("admin", "account", "list", env=without)
    assert (done.returncode, "is missing or empty" in done.stderr) == (2, True), done
    assert [path for path in (data / "blobs").rglob("*") if path.is_file()]


def test_the_documents_of_another_database_are_not_removed(address: str, tmp_path: Path) -> None:
    """Without a check, an empty database with the documents of another one would remove them as leftovers."""
    env, data = make_env(tmp_path), tmp_path / "data"
    moved = env | {"DOCSHARE_DATABASE_URL": address}
    _upload_document(tmp_path, env)
    documents = _list_documents(data)
    assert documents
    refused = run_docshare("admin", "account", "list", env=moved)
    assert (refused.returncode, "belong to its docshare.db; copy it" in refused.stderr) == (2, True), refused.stderr
    assert _list_documents(data) == documents
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")
    done = run_docshare("admin", "move", "--to-database", address, env=env)
    assert done.returncode == 0, done.stderr
    marker = (data / "database-address").read_text()
    assert "@" not in marker
    assert marker.startswith("postgresql://")
    refused = run_docshare("serve", "--port", "0", env=env)
    assert (refused.returncode, "set DOCSHARE_DATABASE_URL as for the server" in refused.stderr) == (2, True), refused
    _upload_document(tmp_path, moved)
    assert (data / "database-address").read_text() == marker
    documents = _list_documents(data)
    other = make_store("other")
    wrong = env | {"DOCSHARE_DATABASE_URL": str(other.engine.pool.conninfo)}
    other.close()
    try:
        refused = run_docshare("admin", "account", "list", env=wrong)
        assert (refused.returncode, "which is another database; correct" in refused.stderr) == (2, True), refused.stderr
        assert _list_documents(data) == documents
    finally:
        drop_store("other")
    back = run_docshare("admin", "move", "--to-data", str(tmp_path / "back"), env=moved)
    assert back.returncode == 0, back.stderr
    listed = run_docshare("admin", "--data", str(tmp_path / "back"), "account", "list", env=env)
    assert (listed.returncode, len(_list_documents(tmp_path / "back"))) == (0, len(documents)), listed.stderr


def test_a_restored_config_file_that_names_the_database_is_reported(address: str, tmp_path: Path) -> None:
    env, data, saved = make_env(tmp_path), tmp_path / "data", tmp_path / "saved.tar"
    data.mkdir(mode=0o700)
    (data / "config.toml").write_text(f'database_url = "{address}"\n')
    (data / "config.toml").chmod(0o600)
    _upload_document(tmp_path, env)
    assert run_docshare("admin", "backup", str(saved), env=env).returncode == 0
    admin = ("admin", "--data", str(tmp_path / "new"))
    restored = run_docshare(*admin, "restore", str(saved), env=env)
    assert restored.returncode == 0, restored.stderr
    assert "but database_url names another place; remove it first" in restored.stderr
    assert run_docshare(*admin, "account", "list", env=env).returncode == 2
    assert len(_list_documents(tmp_path / "new")) == 1
    (tmp_path / "new" / "config.toml").unlink()
    assert run_docshare(*admin, "account", "list", env=env).returncode == 0
    assert len(_list_documents(tmp_path / "new")) == 1


def _upload_document(folder: Path, env: dict[str, str]) -> None:
    (folder / "report.pdf").write_bytes(simple_pdf(pages=2))
    server, _ = start_server("--port", "0", env=env)
    try:
        done = run_docshare("upload", str(folder / "report.pdf"), env=env)
        assert done.returncode == 0, done.stderr
    finally:
        server.terminate()
        server.communicate(timeout=30)


def _list_documents(data: Path) -> list[Path]:
    return sorted(path for path in (data / "blobs").rglob("*") if path.is_file())


def test_a_backup_from_postgresql_is_restored_into_a_folder(address: str, tmp_path: Path) -> None:
    (tmp_path / "report.pdf").write_bytes(simple_pdf(pages=2))
    env = make_env(tmp_path, DOCSHARE_DATABASE_URL=address)
    server, _ = start_server("--port", "0", env=env)
    try:
        sent = run_docshare("upload", str(tmp_path / "report.pdf"), "--quiet", env=env)
        assert sent.returncode == 0, sent.stderr
        saved = run_docshare("admin", "backup", str(tmp_path / "backup.tar"), "--json", env=env)
        assert saved.returncode == 0, saved.stderr
        checked = run_docshare("admin", "check", "--json", env=env)
        assert checked.returncode == 0, checked.stdout
        assert '"all 1 documents' in checked.stdout or '"content"' in checked.stdout, checked.stdout
        repaired = run_docshare("admin", "check", "--repair", env=env)
        assert (repaired.returncode, "needs a SQLite database" in repaired.stderr) == (2, True), repaired.stderr
    finally:
        server.terminate()
        server.communicate(timeout=30)
    assert json.loads(saved.stdout)["files"] == 1
    refused = run_docshare("admin", "restore", str(tmp_path / "backup.tar"), "--yes", env=env)
    assert (refused.returncode, "admin move --to-database" in refused.stderr) == (2, True), refused.stderr
    folder = make_env(tmp_path, DOCSHARE_DATA_DIR=str(tmp_path / "restored"))
    restored = run_docshare("admin", "restore", str(tmp_path / "backup.tar"), env=folder)
    assert restored.returncode == 0, restored.stderr
    again, url = start_server("--data", str(tmp_path / "restored"), "--port", "0", env=folder)
    try:
        email = json.loads(run_docshare("admin", "account", "list", "--json", env=folder).stdout)[0]["email"]
        key = json.loads(run_docshare("admin", "key", "create", email, "--json", env=folder).stdout)["key"]
        listed = run_docshare("files", "list", "--json", env=folder | {"DOCSHARE_URL": url, "DOCSHARE_TOKEN": key})
        assert '"originalName":"report.pdf"' in listed.stdout, listed
    finally:
        again.terminate()
        again.communicate(timeout=30)


@pytest.mark.parametrize(
    ("wrong", "code", "words"),
    [
        ("mysql://host/db", 2, "DOCSHARE_DATABASE_URL: expected an address like postgresql://"),
        ("postgresql://host", 2, "DOCSHARE_DATABASE_URL: expected an address like postgresql://"),
        ("postgresql://u:secret@127.0.0.1:1/db", 11, "the database cannot be reached: connection"),
        ("{}missing", 11, 'database "'),
        ("postgresql://u:%secret@127.0.0.1/db", 2, "DOCSHARE_DATABASE_URL: invalid address"),
        ("postgresql://u:secret@127.0.0.1/db?foo=bar", 2, "DOCSHARE_DATABASE_URL: invalid address"),
        ("postgresql://u:secret/part@127.0.0.1/db", 2, "DOCSHARE_DATABASE_URL: invalid address"),
        ("postgresql://u:secret@127.0.0.1/db?connect_timeout=abc", 2, "DOCSHARE_DATABASE_URL: invalid address"),
        ("postgresql://u:secret@127.0.0.1/db?sslmode=bogus", 2, "DOCSHARE_DATABASE_URL: invalid address"),
        ("postgresql://u:secret@127.0.0.1:99999/db", 2, "DOCSHARE_DATABASE_URL: invalid address"),
    ],
)
def test_an_unusable_database_url_is_reported_in_one_error(
    address: str, tmp_path: Path, wrong: str, code: int, words: str
) -> None:
    env = make_env(tmp_path, DOCSHARE_DATABASE_URL=wrong.format(address))
    done = run_docshare("serve", "--port", "0", env=env)
    assert done.returncode == code, done.stderr
    assert words in done.stderr
    assert "secret" not in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 2, done.stderr


def test_a_database_of_another_encoding_and_a_refused_connection_are_reported(address: str, tmp_path: Path) -> None:
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("CREATE DATABASE ascii ENCODING 'SQL_ASCII' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
        connection.execute("CREATE ROLE nobody LOGIN CONNECTION LIMIT 0")
    base = address.rpartition("/")[0]
    for url, code, words in (
        (f"{base}/ascii", 2, "database_url: the database has the encoding SQL_ASCII"),
        (base.replace("docshare@", "nobody@") + "/postgres", 11, "the database has no free connection: "),
    ):
        done = run_docshare("serve", "--port", "0", env=make_env(tmp_path, DOCSHARE_DATABASE_URL=url))
        assert (done.returncode, words in done.stderr) == (code, True), done.stderr
        assert "Traceback" not in done.stderr


def test_an_instance_with_another_key_or_other_documents_than_its_database_does_not_start(
    address: str, tmp_path: Path
) -> None:
    first = make_env(tmp_path / "first", DOCSHARE_DATABASE_URL=address)
    server, _ = start_server("--port", "0", env=first)
    try:
        second = make_env(tmp_path / "second", DOCSHARE_DATABASE_URL=address)
        refused = run_docshare("serve", "--port", "0", env=second)
        assert (refused.returncode, "is not the master key of this database" in refused.stderr) == (2, True), (
            refused.stderr
        )
        key = str(tmp_path / "first" / "data" / "vault.key")
        second["DOCSHARE_SECRET_KEY_FILE"] = key
        refused = run_docshare("serve", "--port", "0", env=second)
        assert (refused.returncode, "DOCSHARE_STORAGE_URL" in refused.stderr) == (2, True), refused.stderr
        (tmp_path / "shared").mkdir()
        same, _ = start_server("--port", "0", env=second | {"DOCSHARE_STORAGE_URL": (tmp_path / "shared").as_uri()})
        same.terminate()
        same.communicate(timeout=30)
        assert same.returncode == 0
    finally:
        server.terminate()
        server.communicate(timeout=30)
    again, _ = start_server("--port", "0", env=first)
    again.terminate()
    again.communicate(timeout=30)
    assert again.returncode == 0
    (tmp_path / "short").write_bytes(b"short")
    wrong = run_docshare("serve", env=second | {"DOCSHARE_SECRET_KEY_FILE": str(tmp_path / "short")})
    assert (wrong.returncode, "expected 32 random bytes" in wrong.stderr) == (2, True), wrong.stderr
