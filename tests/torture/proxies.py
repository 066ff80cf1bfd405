"""Upload the largest document through nginx and Caddy, configured as ``docshare help proxy`` prints it.

``python -m tests.torture.proxies`` requires the Debian packages ``nginx`` and ``caddy``, and 6 GB of disk space. It
uploads 2 GiB over TLS with ``docshare upload``, downloads them again, and prints the time and how much the proxy wrote
to disk.
"""

import hashlib
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import requests

from docshare.cli import topics
from docshare.contract.plans import GB
from tests.support.outside.import_source import make_certificate
from tests.support.ports import find_free_port
from tests.support.servers.server_process import make_env, run_docshare, start_server

_BLOCK = 1 << 20
_SPOOLS = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")  # where nginx buffers request bodies


def make_configuration(proxy: str, folder: Path, port: int, backend: str) -> str:
    """Return the configuration of ``proxy`` from the help text, for ``localhost:port`` and a server at ``backend``."""
    text = Path(topics.__file__).with_name("proxy.txt").read_text(encoding="utf-8")
    section = re.search(rf"^# {proxy}\n((?:    .*\n|\n)+)", text, re.MULTILINE)
    assert section is not None
    config = section[1].replace("127.0.0.1:8787", backend.removeprefix("http://"))
    if proxy == "nginx":
        config = config.replace("443 ssl", f"127.0.0.1:{port} ssl")
        config = re.sub(r"ssl_certificate .*;", f"ssl_certificate {folder}/cert.pem;", config)
        config = re.sub(r"ssl_certificate_key .*;", f"ssl_certificate_key {folder}/key.pem;", config)
        paths = "".join(f"{name}_temp_path {folder}/{name};\n" for name in _SPOOLS)
        return (
            f"daemon off; pid {folder}/pid; error_log {folder}/error.log;\nuser root;\nevents {{}}\n"
            f"http {{ access_log off;\n{paths}{config.replace('docs.example.com', 'localhost')} }}\n"
        )
    site = f"https://localhost:{port} {{\n    tls {folder}/cert.pem {folder}/key.pem"
    config = config.replace("docs.example.com {", site)
    return f"{{\n admin off\n auto_https disable_redirects\n}}\n{config}"


@contextmanager
def run_proxy(proxy: str, folder: Path, backend: str) -> Iterator[str]:
    """Run ``proxy`` in front of ``backend``; yield its URL."""
    port = find_free_port()
    config = folder / "config"
    config.write_text(make_configuration(proxy, folder, port, backend), encoding="utf-8")
    command = {
        "nginx": ["nginx", "-p", str(folder), "-c", str(config)],
        "Caddy": ["caddy", "run", "--adapter", "caddyfile", "--config", str(config)],
    }[proxy]
    with (folder / "proxy.log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, "HOME": str(folder)})
    try:
        _wait_for(process, port, folder / "proxy.log")
        yield f"https://localhost:{port}"
    finally:
        process.terminate()
        process.wait(30)


def _wait_for(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError(f"the proxy does not listen: {log.read_text(encoding='utf-8')}")


def write_document(path: Path, size: int) -> str:
    """Write a PDF of ``size`` bytes, most of them in one stream, to ``path``; return its SHA-256 in hex."""
    with path.open("wb") as file:
        # Space for the objects after the stream; the rest is filled with white space.
        length = size - 2000
        file.write(b"%%PDF-1.7\n4 0 obj\n<< /Length %d >>\nstream\n" % length)
        block = os.urandom(_BLOCK)
        for _ in range(length // _BLOCK):
            file.write(block)
        file.write(block[: length % _BLOCK] + b"\nendstream\nendobj\n")
        offsets = [0, 0, 0, 9]
        bodies = (
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << >> >>",
        )
        for number, body in enumerate(bodies, 1):
            offsets[number - 1] = file.tell()
            file.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
        table = file.tell()
        file.write(b"xref\n0 5\n0000000000 65535 f \n" + b"".join(b"%010d 00000 n \n" % offset for offset in offsets))
        end = b"trailer\n<< /Size 5 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % table
        file.write(b"\n" * (size - file.tell() - len(end)) + end)
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read_size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # the proxy has just deleted it
        return 0


def check_proxy(proxy: str, folder: Path, size: int) -> bool:
    """Upload and download ``size`` bytes through ``proxy``; print the result, and return whether it was correct."""
    make_certificate(folder, "localhost")
    pdf = folder / "large.pdf"
    sha256 = write_document(pdf, size)
    env = make_env(folder, DOCSHARE_TRUSTED_PROXIES="127.0.0.1/32", REQUESTS_CA_BUNDLE=str(folder / "cert.pem"))
    data = ("--data", str(folder / "data"))
    created = run_docshare("admin", *data, "account", "create", "a@b.example", "--tier", "pro", env=env)
    token = re.findall(r"ds_live_\w+", created.stdout + created.stderr)[0]
    process, backend = start_server(*data, "--port", "0", env=env)
    try:
        with run_proxy(proxy, folder, backend) as url:
            began = time.monotonic()
            uploaded = run_docshare("upload", str(pdf), "--url", url, env={**env, "DOCSHARE_TOKEN": token}, timeout=900)
            seconds = time.monotonic() - began
            if uploaded.returncode != 0:
                print(f"{proxy}: upload ended with {uploaded.returncode}: {uploaded.stderr}")
                return False
            link = uploaded.stdout.split()[-1].rpartition("/")[2]
            api = f"{url}/api/v1/files/{link}"
            headers = {"Authorization": f"Bearer {token}"}
            got = hashlib.sha256()
            verify = str(folder / "cert.pem")
            with requests.get(f"{api}/content", headers=headers, verify=verify, stream=True, timeout=60) as answer:
                for block in answer.iter_content(_BLOCK):
                    got.update(block)
            spooled = sum(_read_size(path) for name in _SPOOLS for path in (folder / name).rglob("*"))
    finally:
        process.terminate()
        process.communicate()
    is_identical = got.hexdigest() == sha256
    state = "identical" if is_identical else "CHANGED"
    print(
        f"{proxy}: {size} bytes in {seconds:.1f} s ({size / seconds / 1e6:.0f} MB/s), {state}, {spooled} bytes spooled"
    )
    return is_identical


def main(size: int = 2 * GB) -> int:
    is_ok = True
    for proxy, program in (("nginx", "nginx"), ("Caddy", "caddy")):
        if shutil.which(program) is None:
            print(f"{proxy}: not installed")
            is_ok = False
            continue
        with tempfile.TemporaryDirectory(prefix="docshare-proxy-") as folder:
            is_ok &= check_proxy(proxy, Path(folder), size)
    return 0 if is_ok else 1


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
