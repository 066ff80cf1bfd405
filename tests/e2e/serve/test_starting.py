"""Commands on the data directory of a server that is starting: it has not stored its address yet."""

import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests

from tests.support.documents.pdfs import simple_pdf
from tests.support.polling import wait_until
from tests.support.ports import find_free_port
from tests.support.servers.server_process import start_server

# The server creates the file named by its first argument when everything but its address is stored, and stores its
# address once the file named by the second one exists.
ANNOUNCE_LATE = """
import sys, time
from pathlib import Path
from docshare.server import instance
has_opened, may_announce, announce = Path(sys.argv.pop(1)), Path(sys.argv.pop(1)), instance.announce

def announce_late(*given):
    has_opened.touch()
    while not may_announce.exists():
        time.sleep(0.02)
    announce(*given)

instance.announce = announce_late
from docshare.__main__ import main
sys.exit(main())
"""

# It creates the file named by its first argument when it has looked for the address of the starting server.
LOOK = """
import sys
from pathlib import Path
from docshare.server import instance
has_looked, read = Path(sys.argv.pop(1)), instance.read_running_owner

def read_and_report(*given):
    found = read(*given)
    has_looked.touch()
    return found

instance.read_running_owner = read_and_report
from docshare.__main__ import main
sys.exit(main())
"""


def test_files_are_shared_through_a_server_that_starts_at_another_address(env: dict[str, str], tmp_path: Path) -> None:
    """The address in the data directory is that of the server before. Another program that listens there meanwhile must
    not get the key of the instance."""
    (tmp_path / "a.pdf").write_bytes(simple_pdf(pages=1))
    before, old_url = start_server("--port", str(find_free_port()), env=env)
    before.terminate()
    before.communicate(timeout=30)
    has_opened, go, has_looked = (tmp_path / name for name in ("opened", "go", "looked"))
    options = {"env": env, "stdout": subprocess.PIPE, "text": True}
    first = [sys.executable, "-c", ANNOUNCE_LATE, str(has_opened), str(go), "serve", "--port", "0"]
    second = [sys.executable, "-c", LOOK, str(has_looked), "serve", str(tmp_path / "a.pdf")]
    with socket.create_server(("127.0.0.1", urlsplit(old_url).port or 0)) as stranger:
        starting = subprocess.Popen(first, **options)  # type: ignore[call-overload]
        wait_until(has_opened.exists, seconds=60)
        sharing = subprocess.Popen(second, **options)  # type: ignore[call-overload]
        try:
            wait_until(has_looked.exists, seconds=60)
            go.touch()
            url = starting.stdout.readline().strip()
            assert sharing.stdout.readline().strip() == url
            assert requests.get(sharing.stdout.readline().strip(), timeout=10).status_code == 200
            stranger.setblocking(False)
            with pytest.raises(BlockingIOError):
                stranger.accept()
        finally:
            for process in (sharing, starting):
                process.terminate()
                process.communicate(timeout=30)
