"""Instances that share their limits in Redis."""

import subprocess
import sys
from pathlib import Path

import pytest
import requests

from tests.support.engines.postgresql import drop_store, make_store
from tests.support.engines.redis import RedisServer, make_patient_environ, run_redis
from tests.support.polling import wait_until
from tests.support.servers.server_process import make_env, run_docshare, run_server, start_server


def test_two_processes_on_one_database_share_the_limit_of_a_key(tmp_path: Path, redis_server: RedisServer) -> None:
    store = make_store("e2e redis")
    common = {
        "DOCSHARE_DATABASE_URL": str(store.engine.pool.conninfo),
        "DOCSHARE_REDIS_URL": redis_server.url,
        "DOCSHARE_RATE_LIMIT": "10",
        "DOCSHARE_STORAGE_URL": (tmp_path / "shared").as_uri(),
        **make_patient_environ(tmp_path / "patience"),
    }
    (tmp_path / "shared").mkdir()
    try:
        with run_server(tmp_path / "one", **common) as one:
            key_file = {"DOCSHARE_SECRET_KEY_FILE": str(tmp_path / "one" / "data" / "vault.key")}
            env = make_env(tmp_path / "two", **common, **key_file)
            two, url = start_server("--port", "0", env=env)
            try:
                answers = [
                    requests.get(
                        f"{(one.url, url)[number % 2]}/api/v1/user", headers=one.headers, timeout=10
                    ).status_code
                    for number in range(12)
                ]
            finally:
                two.terminate()
                two.communicate(timeout=30)
    finally:
        store.close()
        drop_store("e2e redis")
    assert answers == [200] * 10 + [429] * 2


def test_a_server_starts_without_redis_and_connects_later(tmp_path: Path) -> None:
    with run_redis() as redis:
        redis.kill()
        patience = make_patient_environ(tmp_path / "patience")
        with run_server(tmp_path, DOCSHARE_REDIS_URL=redis.url, **patience) as server:
            health = f"{server.url}/healthz?details"
            first = requests.get(health, timeout=10)
            assert (first.status_code, first.json()["status"], first.json()["redis"]) == (200, "ok", False)
            redis.start()
            wait_until(lambda: requests.get(health, timeout=10).json()["redis"])
            assert requests.get(f"{server.url}/api/v1/user", headers=server.headers, timeout=10).status_code == 200
            assert [key for key in redis.list_keys() if key.startswith(b"docshare:default:")]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("http://host", "DOCSHARE_REDIS_URL: expected an address like redis://"),
        ("redis://", "DOCSHARE_REDIS_URL: expected an address like redis://"),
        ("redis://u:secret@host/name", "DOCSHARE_REDIS_URL: expected an address like redis://"),
        ("redis://u:secret@host:port", "DOCSHARE_REDIS_URL: "),
        ("redis://u:secret@host?socket_timeout=9", "DOCSHARE_REDIS_URL: unknown option 'socket_timeout'"),
        ("rediss://u:secret@host?ssl_ca_certs=/missing.pem", "DOCSHARE_REDIS_URL: no such file: /missing.pem"),
    ],
)
def test_an_invalid_redis_url_is_reported_in_one_error(tmp_path: Path, wrong: str, words: str) -> None:
    done = run_docshare("serve", "--port", "0", env=make_env(tmp_path, DOCSHARE_REDIS_URL=wrong))
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 2), done.stderr
    assert words in done.stderr
    assert "secret" not in done.stderr


def test_a_server_without_redis_does_not_import_its_packages(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from docshare.server.config import Config;"
        "import docshare.server.serve; from docshare.server.runtime import build_runtime;"
        f"build_runtime(Config(Path({str(tmp_path)!r}), 'http://127.0.0.1')).close();"
        "print(sorted(name for name in sys.modules if name.split('.')[0] == 'redis'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout == "[]\n", done.stderr
