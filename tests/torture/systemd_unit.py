"""Run the service of ``docshare help systemd`` under systemd in a container, and share documents with it.

    python -m tests.torture.systemd_unit

The container has the system files and LibreOffice of this host, read-only, and this program in /opt/docshare. The
commands of the topic are run as they are printed. Requires root and ``systemd-nspawn``.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docshare.cli import topics
from tests.support.documents import office, pdfs
from tests.support.polling import wait_until
from tests.support.repository import ROOT

SYSTEMD = Path("/usr/lib/systemd/systemd")
_ETC = (
    "alternatives", "dbus-1", "fonts", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "libreoffice", "login.defs",
    "nsswitch.conf", "pam.d", "security", "ssl",
)  # fmt: skip
_LINKS = ("bin", "lib", "lib32", "lib64", "sbin")
_FILES = {
    "etc/group": "root:x:0:\n",
    "etc/gshadow": "root:*::\n",
    "etc/hostname": "docshare\n",
    "etc/hosts": "127.0.0.1 localhost\n",
    "etc/machine-id": "",
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\n",
    "etc/shadow": "root:*:19000:0:99999:7:::\n",
    "opt/docshare/bin/docshare": (
        "#!/opt/docshare/bin/python3\nimport sys\nfrom docshare.__main__ import main\nsys.exit(main())\n"
    ),
}
# nspawn itself filters system calls, and in Debian 12 its list does not contain these.
_ALLOWED_CALLS = "landlock_create_ruleset landlock_add_rule landlock_restrict_self"
_UNIFIED = Path("/sys/fs/cgroup/cgroup.controllers")
_MOUNT_CGROUPS = "mount --make-rprivate / && umount -l /sys/fs/cgroup && mount -t cgroup2 cgroup2 /sys/fs/cgroup && "
_DATA = ("--data", "/var/lib/docshare")
_PROGRAM = "/opt/docshare/bin/docshare"
_AS_SERVICE = ("runuser", "-u", "docshare", "--", _PROGRAM)
_SHARE = """
import json, re, sys, time
import requests

key, url, found = sys.argv[1], "http://127.0.0.1:8787", {}
for name in sys.argv[2:]:
    with open(f"/srv/{name}", "rb") as file:
        headers = {"Authorization": f"Bearer {key}"}
        answer = requests.post(f"{url}/api/v1/files", files={"file": (name, file)}, headers=headers, timeout=120)
    link = f"{url}/{answer.json().get('shortId')}"
    version = re.search('"version": ?"([^"]*)"', requests.get(link, timeout=60).text)
    image = requests.get(f"{link}/pages/1-800.jpg?v={version and version[1]}", timeout=60)
    found[name] = [answer.status_code, image.status_code, image.content[:2].hex()]
print(json.dumps(found))
"""


@dataclass
class Container:
    """A running container; ``leader`` is the process ID of its systemd on this host."""

    leader: int

    def run(self, *command: str, check: bool = True) -> str:
        """Run a command in it as root; return what it prints. Raises AssertionError if it fails, unless not
        ``check``."""
        enter = ["nsenter", f"--target={self.leader}", "--mount", "--uts", "--ipc", "--net", "--pid", "--", *command]
        env = {"PATH": "/usr/sbin:/usr/bin", "HOME": "/root", "LC_ALL": "C.UTF-8"}
        done = subprocess.run(enter, env=env, capture_output=True, text=True, timeout=180, check=False)
        assert done.returncode == 0 or not check, (command, done.stdout, done.stderr)
        return done.stdout


@dataclass
class ServiceResult:
    """``shared``: by document, the statuses of its upload and of a page image, and the first bytes of the image;
    ``findings`` of ``docshare doctor`` by check; ``journal`` of the service; ``end``: how it ended when it was stopped;
    ``key``: the API key of its account."""

    shared: dict[str, list[Any]]
    findings: dict[str, dict[str, Any]]
    journal: str
    end: str
    key: str


def find_obstacle() -> str | None:
    """Return why the container cannot run here, or None."""
    if os.geteuid() != 0:
        return "only root can start a container"
    if shutil.which("systemd-nspawn") is None or not SYSTEMD.exists():
        return "systemd-nspawn is not installed (Debian: systemd-container)"
    if shutil.which("soffice") is None:
        return "LibreOffice is not installed"
    return None


def extract_unit() -> str:
    """Return the unit that the topic prints."""
    found = re.search(r"^    \[Unit\]$.*?^    WantedBy=.*?$", topics.load("systemd"), re.MULTILINE | re.DOTALL)
    assert found is not None
    return textwrap.dedent(found[0]) + "\n"


def build_root(root: Path) -> None:
    """Create the root directory of a container with this program, the unit, and two documents in /srv."""
    before = os.umask(0o022)  # commands that ran in this process may have changed it, as for private files
    try:
        _fill_root(root)
    finally:
        os.umask(before)


def _fill_root(root: Path) -> None:
    for name in ("etc/systemd/system", "opt/docshare/bin", "opt/packages", "opt/python", "opt/source/docshare", "srv",
                 "usr", "var/lib", "run", "tmp", "proc", "sys", "dev", "root", "home"):  # fmt: skip
        (root / name).mkdir(parents=True, exist_ok=True)
    root.chmod(0o755)
    for name in filter(lambda name: Path("/", name).is_symlink(), _LINKS):
        (root / name).symlink_to(Path("/", name).readlink())
    for name in filter(lambda name: Path("/etc", name).exists(), _ETC):
        source, target = Path("/etc", name), root / "etc" / name
        shutil.copytree(source, target, symlinks=True) if source.is_dir() else shutil.copy(source, target)
    shutil.copy("/usr/lib/os-release", root / "etc/os-release")
    for name, text in _FILES.items():
        (root / name).write_text(text)
    (root / "opt/docshare/bin/docshare").chmod(0o755)
    libraries = root / "etc/ld.so.conf"
    libraries.write_text("/opt/python/lib\n" + libraries.read_text())
    _build_environment(root / "opt/docshare")
    (root / "etc/systemd/system/docshare.service").write_text(extract_unit())
    (root / "srv/a.pdf").write_bytes(pdfs.dense_text_pdf(3, 1))
    (root / "srv/a.docx").write_bytes(office.make_docx("Hello", pages=3))


def _build_environment(folder: Path) -> None:
    """Create a virtual environment with the Python, the packages and the program that are mounted below /opt."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    (folder / "pyvenv.cfg").write_text("home = /opt/python/bin\ninclude-system-site-packages = false\n")
    (folder / "bin/python3").symlink_to(f"/opt/python/bin/{version}")
    packages = folder / "lib" / version / "site-packages"
    packages.mkdir(parents=True)
    (packages / "docshare.pth").write_text("/opt/source\n/opt/packages\n")


@contextmanager
def boot_container(root: Path, log: Path) -> Iterator[Container]:
    """Boot the container in ``root`` without network; power it off at the end of the block."""
    mounts = {
        "/usr": "/usr",
        sys.base_prefix: "/opt/python",
        next(path for path in sys.path if path.endswith("site-packages")): "/opt/packages",
        str(ROOT / "docshare"): "/opt/source/docshare",
    }
    command = [
        "systemd-nspawn", "--quiet", "--boot", f"--directory={root}", f"--machine=docshare-{os.getpid()}",
        "--private-network", "--register=no", "--keep-unit", "--console=pipe", f"--system-call-filter={_ALLOWED_CALLS}",
        *(f"--bind-ro={source}:{target}" for source, target in mounts.items()),
    ]  # fmt: skip
    script = f'{"" if _UNIFIED.exists() else _MOUNT_CGROUPS}exec "$@"'
    env = os.environ | {"SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1", "SYSTEMD_NSPAWN_LOCK": "0"}
    with (
        log.open("wb") as output,
        subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", script, "sh", *command],
            stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=env, start_new_session=True,
        ) as process,
    ):  # fmt: skip
        try:
            wait_until(lambda: process.poll() is not None or _find_leader(process.pid), seconds=60)
            leader = _find_leader(process.pid)
            assert leader, log.read_text()
            container = Container(leader)
            states = ("running", "degraded")
            wait_until(
                lambda: container.run("systemctl", "is-system-running", check=False).strip() in states, seconds=120
            )
            yield container
            os.kill(leader, signal.SIGRTMIN + 4)  # systemd: power off
            process.wait(60)
        finally:
            process.kill()


def _find_leader(nspawn: int) -> int | None:
    """Return the process ID of the systemd that ``nspawn`` has started."""
    try:
        children = Path(f"/proc/{nspawn}/task/{nspawn}/children").read_text().split()
        found = [int(child) for child in children if Path(f"/proc/{child}/comm").read_text() == "systemd\n"]
    except OSError:
        return None
    return found[0] if found else None


def run_service(container: Container) -> ServiceResult:
    """Follow the topic: create the user, the folder and an account, and start the service; share, and stop it."""
    steps = " ".join(line for line in topics.load("systemd").splitlines() if line.startswith("    "))
    for start in ("useradd --system", "install -d"):
        assert start in steps
    container.run("ldconfig")
    container.run("useradd", "--system", "--home-dir", _DATA[1], "--shell", "/bin/false", "docshare")
    container.run("install", "-d", "-o", "docshare", "-g", "docshare", "-m", "0700", _DATA[1])
    created = container.run(
        *_AS_SERVICE, "admin", "account", "create", "ada@example.com", "--tier", "pro", *_DATA, "--json"
    )
    key = str(json.loads(created)["apiKey"])
    container.run("systemctl", "daemon-reload")
    container.run("systemctl", "enable", "--now", "docshare")
    wait_until(lambda: "https://docs.example.com" in _read_journal(container), seconds=60)
    shared = container.run("/opt/docshare/bin/python3", "-c", _SHARE, key, "a.pdf", "a.docx")
    checks = json.loads(container.run(*_AS_SERVICE, "doctor", *_DATA, "--json", check=False))
    container.run("systemctl", "stop", "docshare")
    end = container.run("systemctl", "show", "docshare", "--property=Result,ExecMainStatus,NRestarts")
    return ServiceResult(
        json.loads(shared), {check["check"]: check for check in checks}, _read_journal(container), end, key
    )


def _read_journal(container: Container) -> str:
    return container.run("journalctl", "--no-pager", "--unit=docshare", check=False)


def main() -> int:
    """Run the service, print the results, and return the exit code."""
    obstacle = find_obstacle()
    if obstacle:
        print(f"skipped: {obstacle}")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "root")
        build_root(root)
        begun = time.monotonic()
        with boot_container(root, Path(folder, "log")) as container:
            print(f"booted after {time.monotonic() - begun:.0f} s", flush=True)
            result = run_service(container)
    print(json.dumps(result.shared))
    for name in ("instance.confinement", "instance.converter"):
        print(json.dumps(result.findings[name]))
    print(result.end.replace("\n", " "))
    return 0


if __name__ == "__main__":
    sys.exit(main())
