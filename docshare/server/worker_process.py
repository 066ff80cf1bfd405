"""One of several processes that serve one port; ``supervisor`` starts it.

It reads its order from standard input, reports on standard output that it is ready, and ends after SIGTERM or when
its parent has ended.
"""

import json
import os
import select
import signal
import socket
import sys
from dataclasses import replace
from pathlib import Path

from docshare.server import faults
from docshare.server.config import Config, ConfigError, load_config
from docshare.server.instance import join_instance
from docshare.server.logs import LOGGER, configure_logging
from docshare.server.serve import BoundPort, allow_local_webhooks, serve_instance
from docshare.server.store.migrations import migrate
from docshare.server.store.tables import contents
from docshare.server.supervisor import READY, WorkerOrder


def main() -> int:
    """Serve as ordered on standard input; return the exit code."""
    order = WorkerOrder(**json.loads(sys.stdin.buffer.readline()))
    # The system writes to it when a signal arrives, even while another thread holds the interpreter or a lock.
    wake_reader, wake_writer = os.pipe()
    os.set_blocking(wake_writer, False)
    signal.set_wakeup_fd(wake_writer)
    signal.signal(signal.SIGTERM, lambda number, frame: None)
    try:
        config = _load_config(order)
    except ConfigError as error:  # after SIGHUP: its parent started with other settings
        configure_logging(order.log, access=order.access)
        LOGGER.error("a worker process cannot start", extra={"worker": order.number, "reason": str(error)})
        return 2
    configure_logging(order.log, access=order.access, process_name=config.process_name)
    port = BoundPort([socket.socket(fileno=descriptor) for descriptor in order.descriptors])
    try:
        with join_instance(config) as instance:
            migrate(instance.rt.db)  # after SIGHUP this process may be of a later version than its parent
            instance.rt.pages.files.delete_stale(dict(contents.stream_versions(instance.rt.db)))
            with serve_instance(port, instance, dev=order.dev):
                os.write(sys.stdout.fileno(), READY)
                select.select([wake_reader, sys.stdin.buffer], [], [])
    except Exception as error:  # noqa: BLE001 - such as a lost database; the parent starts another process
        faults.log_error(error, "a worker process failed")
        return 1
    return 0


def _load_config(order: WorkerOrder) -> Config:
    config = load_config(order.settings, os.environ, Path(order.settings["data_dir"]), order.base_url)
    config = replace(config, worker_number=order.number)
    return allow_local_webhooks(config) if order.dev else config


if __name__ == "__main__":
    sys.exit(main())
