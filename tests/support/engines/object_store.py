"""A local object store: OpenStack Swift with its S3 interface, from Debian's packages, in a temporary folder.

Swift is a distributed store. Here each of its four servers runs once, as an ordinary user and on a free port, with one
replica on one folder. Rings say which server has which part of the data.
"""

import atexit
import http.client
import os
import pwd
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import count
from pathlib import Path
from tempfile import mkdtemp
from urllib.parse import quote

from obstore.store import S3Store

from tests.support.polling import wait_until
from tests.support.ports import find_free_port

ACCESS_KEY, SECRET_KEY = "test:tester", "testing"
GUEST = {"AWS_ACCESS_KEY_ID": "test:guest", "AWS_SECRET_ACCESS_KEY": "visiting"}
"""Credentials of a user who may do only what ``set_guest_rights`` allows."""
REGION = "us-east-1"
_KINDS = ("account", "container", "object")
_MEMORY = Path("/dev/shm")
_numbers = count()

_SERVER = """\
[DEFAULT]
bind_ip = 127.0.0.1
bind_port = {port}
swift_dir = {folder}
devices = {folder}/devices
mount_check = false
user = {user}
workers = 0
disable_fallocate = true
[pipeline:main]
pipeline = {kind}-server
[app:{kind}-server]
use = egg:swift#{kind}
# A container that is not updated in time would list the object until a process that does not run here updates it.
conn_timeout = 30
node_timeout = 60
container_update_timeout = 60
[{kind}-replicator]
[object-reconstructor]
"""
_PROXY = """\
[DEFAULT]
bind_ip = 127.0.0.1
bind_port = {port}
swift_dir = {folder}
user = {user}
workers = 0
[pipeline:main]
pipeline = catch_errors cache s3api tempauth bulk slo dlo proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:{memcached}
[filter:s3api]
use = egg:swift#s3api
[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = testing .admin
user_test_guest = visiting
[filter:bulk]
use = egg:swift#bulk
[filter:slo]
use = egg:swift#slo
[filter:dlo]
use = egg:swift#dlo
"""


@dataclass
class ObjectStore:
    """A store that can be stopped and started again on the same ports, with the same objects."""

    folder: Path
    ports: dict[str, int]
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.ports['proxy']}"

    @property
    def environ(self) -> dict[str, str]:
        """Return environment variables with the credentials of the store."""
        return {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY}

    def make_url(self, bucket: str, prefix: str = "") -> str:
        """Return the URL of a bucket for DOCSHARE_STORAGE_URL."""
        return f"s3://{bucket}{prefix and '/'}{prefix}?endpoint={quote(self.endpoint, safe='')}&region={REGION}"

    def create_bucket(self) -> str:
        """Create a new bucket; return its name."""
        name = f"bucket{next(_numbers)}-{os.getpid()}"
        self._request("PUT", f"/v1/AUTH_test/{name}", self._sign_in())  # obstore creates no buckets
        return name

    def set_guest_rights(self, bucket: str, *, may_write: bool) -> None:
        """Allow the user of ``GUEST`` to read the bucket, and to change it if ``may_write``."""
        guest = GUEST["AWS_ACCESS_KEY_ID"]
        rights = {"X-Container-Read": f"{guest},.rlistings", "X-Container-Write": guest if may_write else ""}
        self._request("POST", f"/v1/AUTH_test/{bucket}", self._sign_in() | rights)

    def delete_bucket(self, bucket: str) -> None:
        """Delete a bucket with its objects."""
        client = self.open_bucket(bucket)
        for key in self.list_keys(bucket):
            client.delete(key)
        self._request("DELETE", f"/v1/AUTH_test/{bucket}", self._sign_in())

    def _request(self, method: str, path: str, headers: dict[str, str]) -> dict[str, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.ports["proxy"], timeout=60)
        try:
            connection.request(method, path, headers=headers)
            answer = connection.getresponse()
            assert answer.status < 300, (answer.status, answer.read())
            return {name.lower(): value for name, value in answer.getheaders()}
        finally:
            connection.close()

    def open_bucket(self, bucket: str) -> S3Store:
        """Return a client of the bucket."""
        return S3Store(
            bucket,
            config={
                "endpoint": self.endpoint, "region": REGION,
                "access_key_id": ACCESS_KEY, "secret_access_key": SECRET_KEY,
            },
            client_options={"allow_http": True},
        )  # fmt: skip

    def list_keys(self, bucket: str) -> list[str]:
        """Return the keys of all objects in the bucket."""
        return sorted(found["path"] for page in self.open_bucket(bucket).list() for found in page)

    def start(self) -> None:
        """Start all servers; return once the store answers."""
        user = pwd.getpwuid(os.getuid()).pw_name if os.getuid() else "nobody"
        words = ["-u", user, "-l", "127.0.0.1", "-p", str(self.ports["memcached"]), "-U", "0", "-m", "16"]
        self._spawn(["memcached", *words])
        for kind in (*_KINDS, "proxy"):
            self._spawn([f"/usr/bin/swift-{kind}-server", str(self.folder / f"{kind}.conf")])
        wait_until(self.is_answering, seconds=180)  # a busy machine, and clients that retry all the time

    def _spawn(self, words: list[str]) -> None:
        who = {} if os.getuid() else {"user": "nobody", "group": "nogroup", "extra_groups": []}
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen(words, stdout=log, stderr=log, cwd=self.folder, env={"PATH": "/usr/bin"}, **who)
        self.processes.append(process)

    def is_answering(self) -> bool:
        """Return whether all servers accept requests."""
        assert all(process.poll() is None for process in self.processes), (self.folder / "log").read_text()[-2000:]
        try:
            for port in self.ports.values():
                socket.create_connection(("127.0.0.1", port), timeout=5).close()
            self._request("GET", "/v1/AUTH_test", self._sign_in())
        except (OSError, AssertionError):
            return False
        return True

    @cached_property
    def shared_bucket(self) -> str:
        """Return a bucket for all tests that choose their own prefix."""
        return self.create_bucket()

    def _sign_in(self) -> dict[str, str]:
        """Return the header that authenticates a request to Swift's own interface."""
        found = self._request("GET", "/auth/v1.0", {"X-Auth-User": ACCESS_KEY, "X-Auth-Key": SECRET_KEY})
        return {"X-Auth-Token": found["x-auth-token"]}

    def stop(self) -> None:
        """Kill all servers; the stored objects stay in the folder."""
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait(30)
        self.processes.clear()


@contextmanager
def run_object_store() -> Iterator[ObjectStore]:
    """Yield a running store, which ends with the block."""
    folder = Path(mkdtemp(prefix="swift", dir=_MEMORY if _MEMORY.is_dir() else None))
    store = ObjectStore(folder, {name: find_free_port() for name in (*_KINDS, "proxy", "memcached")})
    try:
        _write_configuration(store)
        store.start()
        yield store
    finally:
        store.stop()
        shutil.rmtree(folder)


def _write_configuration(store: ObjectStore) -> None:
    folder, user = store.folder, "nobody" if os.getuid() == 0 else pwd.getpwuid(os.getuid()).pw_name
    (folder / "devices" / "d1").mkdir(parents=True)
    for kind in _KINDS:
        text = _SERVER.format(kind=kind, port=store.ports[kind], folder=folder, user=user)
        (folder / f"{kind}.conf").write_text(text)
        _build_ring(folder, kind, store.ports[kind])
    text = _PROXY.format(port=store.ports["proxy"], folder=folder, user=user, memcached=store.ports["memcached"])
    (folder / "proxy.conf").write_text(text)
    if os.getuid() == 0:
        for path in (folder, *folder.rglob("*")):
            shutil.chown(path, "nobody", "nogroup")


def _build_ring(folder: Path, kind: str, port: int) -> None:
    builder = str(folder / f"{kind}.builder")
    device = f"r1z1-127.0.0.1:{port}/d1"
    for words in (("create", "1", "1", "1"), ("add", device, "1"), ("rebalance",)):
        subprocess.run(["/usr/bin/swift-ring-builder", builder, *words], check=True, capture_output=True)


@cache
def start_object_store() -> ObjectStore:
    """Return a store for the rest of the run."""
    context = run_object_store()
    store = context.__enter__()
    atexit.register(context.__exit__, None, None, None)
    return store
