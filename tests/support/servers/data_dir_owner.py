"""A world in this process that holds its data directory, as ``docshare serve`` does."""

from collections.abc import Iterator
from contextlib import contextmanager

from docshare.server.instance import Instance, announce, instance_key
from docshare.server.store.lock import DirectoryLock
from tests.support.people.cast import World
from tests.support.servers.in_process_server import serve_world


@contextmanager
def own_data_dir(world: World, host: str = "127.0.0.1") -> Iterator[str]:
    """Serve ``world`` and announce that it listens on ``host``; yield its address."""
    folder = world.rt.config.data_dir
    with DirectoryLock(folder), serve_world(world) as url:
        announce(Instance(world.rt, instance_key(folder)), url, host)
        yield url
