"""``docshare serve`` in a separate process."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

COMMAND = [sys.executable, "-m", "docshare"]
_TIMEOUT_S = 120  # for programs that start several others, on a busy machine


@dataclass
class ServerProcess:
    """``url``: its base URL; ``token``: an API key of its owner."""

    url: str
    token: str
    data_dir: Path
    process: subprocess.Popen[str]

    @property
    def process_url(self) -> str:
        """Return the URL on this host, whatever the base URL of its links is."""
        return str(json.loads((self.data_dir / "server.json").read_text())["url"])

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


def make_env(folder: Path, **more: str) -> dict[str, str]:
    """Return an environment in which docshare stores everything below ``folder``."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("DOCSHARE_", "XDG_"))}
    places = {f"DOCSHARE_{name}_DIR": str(folder / name.lower()) for name in ("CONFIG", "STATE", "CACHE", "DATA")}
    return clean | places | {"HOME": str(folder), "NO_COLOR": "1"} | more


def run_docshare(*args: str, env: dict[str, str], **more: Any) -> subprocess.CompletedProcess[str]:
    """Run one command; capture stdout and stderr as text."""
    options: dict[str, Any] = {"capture_output": True, "text": True, "timeout": _TIMEOUT_S, "check": False} | more
    return subprocess.run([*COMMAND, *args], env=env, stdin=subprocess.DEVNULL, **options)


def run_admin(env: dict[str, str], *args: str) -> Any:
    """Run ``docshare admin``, which must succeed; return what ``--json`` prints."""
    done = run_docshare("admin", *args, "--json", env=env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def start_server(*args: str, env: dict[str, str], errors: IO[str] | int = subprocess.DEVNULL) -> tuple[Any, str]:
    """Start ``docshare serve``; return the process and the base URL that it printed once it was ready."""
    process = subprocess.Popen(
        [*COMMAND, "serve", *args], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, text=True
    )
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    if not url:
        process.communicate(timeout=30)
        raise AssertionError(f"docshare serve ended with {process.returncode}")
    return process, url


@contextmanager
def run_server(
    folder: Path, *args: str, tier: str = "pro", data_dir: Path | None = None, **environ: str
) -> Iterator[ServerProcess]:
    """Yield a server on a free port with its data below ``folder``, stopped at the end of the block."""
    env = make_env(folder, **environ)
    data_dir = data_dir or folder / "data"
    token = _create_owner_key(data_dir, tier, env)
    process, url = start_server("--data", str(data_dir), "--port", "0", *args, env=env)
    try:
        yield ServerProcess(url, token, data_dir, process)
    finally:
        process.terminate()
        process.communicate(timeout=_TIMEOUT_S)


def _create_owner_key(data_dir: Path, tier: str, env: dict[str, str]) -> str:
    email = "owner@example.com"
    create = ["key", "create", email] if data_dir.exists() else ["account", "create", email, "--tier", tier]
    made = run_docshare("admin", "--data", str(data_dir), *create, "--json", env=env)
    assert made.returncode == 0, made.stderr
    answer = json.loads(made.stdout)
    return str(answer.get("key") or answer["apiKey"])
