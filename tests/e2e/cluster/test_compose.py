"""The server of the compose file, with its command and its variables, on engines of the same kinds."""

import json
import re
import subprocess
import sys
from pathlib import Path

import requests
import yaml

from docshare.cli import topics
from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.object_store import run_object_store
from tests.support.engines.postgresql import run_postgresql_server
from tests.support.engines.redis import RedisServer
from tests.support.polling import wait_until
from tests.support.ports import find_free_port
from tests.support.servers.server_process import COMMAND, make_env, run_docshare

_BASE_URL = "https://docs.example.com"


def read_image(folder: Path, port: int) -> tuple[list[str], dict[str, str]]:
    """Return the command and the variables of the image, with a free port and a data directory in ``folder``."""
    text = topics.load_sample("Containerfile")
    variables = dict(word.split("=") for line in re.findall(r"^ENV (.*)$", text, re.MULTILINE) for word in line.split())
    found = re.search(r"^CMD (.*)$", text, re.MULTILINE)
    assert found is not None
    return json.loads(found[1]), variables | {"DOCSHARE_PORT": str(port), "DOCSHARE_DATA_DIR": str(folder / "data")}


def test_the_server_of_the_compose_file_uses_all_engines(tmp_path: Path, redis_server: RedisServer) -> None:
    key, port = tmp_path / "secret.key", find_free_port()
    key.write_bytes(bytes(range(32)))
    key.chmod(0o400)
    command, variables = read_image(tmp_path, port)
    with run_postgresql_server() as database, run_object_store() as objects:
        bucket = objects.create_bucket()
        places = {
            "docshare:${POSTGRES_PASSWORD:?}@postgres/docshare": database.url.partition("//")[2],
            "s3://docshare?endpoint=http://objects:9000&region=us-east-1": objects.make_url(bucket),
            "redis://redis:6379/0": redis_server.url,
            "/run/secrets/docshare_key": str(key),
            "${DOCSHARE_BASE_URL:?}": _BASE_URL,
            "${OBJECTS_PASSWORD:?}": objects.environ["AWS_SECRET_ACCESS_KEY"],
            "172.30.77.1/32": "127.0.0.1/32",
        }
        text = topics.load_sample("compose.yaml")
        for written, here in places.items():
            assert written in text
            text = text.replace(written, here)
        settings = yaml.safe_load(text)["services"]["server"]["environment"]
        settings["AWS_ACCESS_KEY_ID"] = objects.environ["AWS_ACCESS_KEY_ID"]
        env = make_env(tmp_path, **(variables | settings))
        assert command[0] == "docshare"
        with (tmp_path / "log").open("w") as log:
            server = subprocess.Popen([*COMMAND, *command[1:]], env=env, stdout=log, stderr=log)
        try:
            wait_until(lambda: is_healthy(port), seconds=90)
            made = run_docshare("admin", "account", "create", "ada@example.com", "--json", env=env)
            assert made.returncode == 0, made.stderr
            answer = requests.post(
                f"http://127.0.0.1:{port}/api/v1/files",
                headers={"Authorization": f"Bearer {json.loads(made.stdout)['apiKey']}"},
                files={"file": ("a.pdf", simple_pdf(pages=1))}, timeout=60,
            )  # fmt: skip
            assert (answer.status_code, _BASE_URL in answer.text) == (200, True), answer.text
            assert len(objects.list_keys(bucket)) == 2  # the document, and the name of the instance
            assert [name for name in redis_server.list_keys() if name.startswith(b"docshare:")]
            checked = run_docshare("doctor", "--only", "instance", "--json", env=env)
            assert "PostgreSQL" in checked.stdout, checked
        finally:
            server.terminate()
            assert server.wait(60) == 0


def is_healthy(port: int) -> bool:
    """Run the health check of the image."""
    found = re.search(r"^ +CMD (\[.*\])$", topics.load_sample("Containerfile"), re.MULTILINE)
    assert found is not None
    _, option, code = json.loads(found[1])
    checked = code.replace("http://127.0.0.1:8787", f"http://127.0.0.1:{port}")
    return subprocess.run([sys.executable, option, checked], capture_output=True, timeout=30).returncode == 0
