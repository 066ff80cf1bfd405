"""The short form of ``host_faults``: each fault once, on one server."""

import json
from typing import Any

from tests.support.servers.server_process import run_docshare
from tests.torture.host_faults import (
    FAULTS,
    FaultFigures,
    SmallDiskServer,
    check_stopped_server,
    inject_fault,
    restart_on_full_disk,
    run_small_disk_server,
)


def test_host_faults_are_503_and_need_no_restart() -> None:
    """There is no 500, no traceback and no partial write, and the server recovers by itself."""
    figures, before = FaultFigures(), 0
    with run_small_disk_server() as server:
        for fault in FAULTS:
            inject_fault(server, fault, 2, figures)
            assert figures.count_unavailable() > before, fault
            before = figures.count_unavailable()
        restart_on_full_disk(server, figures)
        check_stopped_server(server, figures)
    assert figures.problems == []
    assert figures.answers["detail"].keys() == {200}
    assert figures.answers["upload"][503] > 0


def run_admin(server: SmallDiskServer, *words: str) -> Any:
    return run_docshare("admin", "--data", str(server.data_dir), *words, env=server.env)


def test_admin_commands_reach_a_server_that_restarts_on_a_full_disk() -> None:
    """At the first start, the server frees its reserved disk space; at the second, it cannot create a file."""
    with run_small_disk_server() as server:
        ports = [server.url]
        for _ in range(2):
            server.fill()
            server.kill()
            server.fill()
            server.start()
            ports.append(server.url)
            done = run_admin(server, "account", "list")
            assert (done.returncode, "a@b.example" in done.stdout) == (0, True), done.stderr
            assert json.loads((server.data_dir / "server.json").read_text())["url"] == server.url
        assert len(set(ports)) == 3
        assert not list(server.data_dir.glob("*.new"))
        (server.data_dir / "server.json").unlink()
        unreachable = run_admin(server, "account", "list")
        assert (unreachable.returncode, "The disk is full" in unreachable.stderr, "restart" in unreachable.stderr) == (
            11,
            True,
            True,
        )
    server.log.unlink()
