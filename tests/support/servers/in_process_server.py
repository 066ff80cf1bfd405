"""A server in this process, and a clock for it that runs by itself and can also be advanced."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from docshare.server.api.early_verdict import make_judge
from docshare.server.api.problems import build_error_refusal
from docshare.server.http.listener import Server, bind_sockets, make_server
from docshare.server.http.views import resolve_client_address
from tests.support.clock import START, FakeClock
from tests.support.people.cast import World


class RunningClock(FakeClock):
    """Starts at ``START`` and runs; ``advance`` adds to it."""

    def __init__(self) -> None:
        self._started = time.monotonic_ns() // 1_000_000
        super().__init__(START)

    def __call__(self) -> int:
        return self.now + time.monotonic_ns() // 1_000_000 - self._started


@contextmanager
def serve_world(world: World) -> Iterator[str]:
    """Serve ``world`` on a free port of this host for the length of the block; yield its base URL."""
    rt = world.rt
    server = make_server(
        world.app,
        bind_sockets("127.0.0.1", 0),
        judge=make_judge(rt),
        create_partial=rt.blobs.create_partial,
        render_error=lambda status, path, detail: build_error_refusal(rt, status, path, detail),
        find_client=partial(resolve_client_address, rt),
    )
    with run_in_thread(server) as address:
        yield address


@contextmanager
def run_in_thread(server: Server) -> Iterator[str]:
    """Run ``server`` in a thread for the length of the block; yield its base URL."""
    loop = threading.Thread(target=server.run, daemon=True)
    loop.start()
    try:
        yield f"http://127.0.0.1:{server.port}"
    finally:
        server.stop(5)
        loop.join()
