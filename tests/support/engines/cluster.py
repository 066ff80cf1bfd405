"""Several instances of docshare on one PostgreSQL database, behind nginx with TLS."""

import json
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import requests

from docshare.cli import topics
from tests.support.outside.import_source import make_certificate
from tests.support.polling import wait_until
from tests.support.ports import find_free_port
from tests.support.servers.server_process import make_env, run_docshare, start_server

_NGINX = """\
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {site}
}}
"""


@dataclass
class ClusterInstance:
    """One process of ``docshare serve``; ``url`` reaches it past nginx."""

    name: str
    port: int
    env: dict[str, str]
    data_dir: Path
    process: Any = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        with (self.data_dir.parent / "log").open("a") as log:
            self.process, _ = start_server("--port", str(self.port), env=self.env, errors=log)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate(timeout=30)

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.process.communicate(timeout=60)


@dataclass
class Cluster:
    """``url``: the base URL for readers, over TLS; ``certificate``: the file of its CA; ``token``: an API key."""

    url: str
    certificate: Path
    token: str
    instances: list[ClusterInstance] = field(default_factory=list)

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def open_session(self) -> requests.Session:
        """Return a client that trusts the certificate; nginx chooses the instance of each request."""
        session = requests.Session()
        session.trust_env = False  # a CA bundle in the environment would take precedence
        session.verify = str(self.certificate)
        return session

    def read_logs(self) -> str:
        return "\n".join((one.data_dir.parent / "log").read_text() for one in self.instances)


@contextmanager
def run_cluster(folder: Path, count: int, database_url: str, **settings: str) -> Iterator[Cluster]:
    """Run ``count`` instances on the database for the length of the block. ``settings``: environment variables; all but
    those of AWS get the prefix DOCSHARE_."""
    key = folder / "secret.key"
    key.write_bytes(os.urandom(32))
    certificate, port = make_certificate(folder, "localhost"), find_free_port()
    environ = {name if name.startswith("AWS_") else f"DOCSHARE_{name}": value for name, value in settings.items()}
    common = {
        "DOCSHARE_DATABASE_URL": database_url,
        "DOCSHARE_SECRET_KEY_FILE": str(key),
        "DOCSHARE_BASE_URL": f"https://localhost:{port}",
        "DOCSHARE_TRUSTED_PROXIES": "127.0.0.1/32",
        "DOCSHARE_METRICS": "local",
        **environ,
    }
    instances = []
    for number in range(1, count + 1):
        home = folder / f"instance{number}"
        home.mkdir()
        env = make_env(home, **common, DOCSHARE_INSTANCE_NAME=f"instance{number}")
        instances.append(ClusterInstance(f"instance{number}", find_free_port(), env, home / "data"))
    first = instances[0]
    made = run_docshare("admin", "account", "create", "owner@example.com", "--tier", "pro", "--json", env=first.env)
    assert made.returncode == 0, made.stderr
    cluster = Cluster(f"https://localhost:{port}", certificate, json.loads(made.stdout)["apiKey"], instances)
    nginx = _start_nginx(folder, port, certificate, instances)
    try:
        for instance in instances:
            instance.start()
        yield cluster
    finally:
        for instance in instances:
            instance.stop()
        nginx.terminate()
        nginx.wait(30)


def _start_nginx(
    folder: Path, port: int, certificate: Path, instances: list[ClusterInstance]
) -> "subprocess.Popen[bytes]":
    path = folder / "nginx.conf"
    text = _NGINX.format(folder=folder, site=_read_sample(port, certificate, instances))
    path.write_text(f"user root;\n{text}" if os.getuid() == 0 else text)
    program = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin")
    assert program is not None, "nginx is not installed"
    process = subprocess.Popen([program, "-c", str(path), "-p", str(folder)], stderr=subprocess.DEVNULL)
    wait_until(lambda: _is_listening(port))
    return process


def _read_sample(port: int, certificate: Path, instances: list[ClusterInstance]) -> str:
    """Return the configuration of ``docshare help cluster`` with the ports and files of the test. Its clients choose
    their own addresses, as if they were proxies."""
    text = topics.load_sample("nginx.conf")
    servers = " ".join(f"server 127.0.0.1:{one.port} max_fails=0;" for one in instances)
    places = {
        "server 127.0.0.1:8801 max_fails=0;": servers,
        "server 127.0.0.1:8802 max_fails=0;": "",
        "listen 443 ssl;": f"listen 127.0.0.1:{port} ssl;",
        "server_name docs.example.com;": "server_name localhost;",
        "/etc/ssl/docs.example.com.pem": str(certificate),
        "/etc/ssl/docs.example.com.key": str(certificate.with_name("key.pem")),
        "proxy_next_upstream_tries 2;": f"proxy_next_upstream_tries {len(instances)};",
        "X-Forwarded-For $remote_addr;": "X-Forwarded-For $proxy_add_x_forwarded_for;",
    }
    for documented, used in places.items():
        assert text.count(documented) == 1, documented
        text = text.replace(documented, used)
    return text


def _is_listening(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False
