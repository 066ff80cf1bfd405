"""Start the server of ``docshare serve`` from its validated options."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docshare.cli.framework import background
from docshare.cli.framework.admin_channel import translate_data_errors
from docshare.cli.framework.context import Context
from docshare.cli.framework.exits import ExitCode, Stop

if TYPE_CHECKING:
    from docshare.server.config import Config
    from docshare.server.instance import DirectoryOwner
    from docshare.server.serve import BoundPort, ServingInstance

_PLACEHOLDER_URL = "http://127.0.0.1"  # until the port is known


@dataclass(frozen=True)
class ServeOptions:
    """The validated options of ``serve``."""

    files: tuple[Path, ...]
    host: str
    port: int
    settings: dict[str, Any]
    tier: str
    open_page: bool
    ephemeral: bool
    command: tuple[str, ...]
    dev: bool
    log: str
    ready_file: Path | None
    print_env: bool


def load_serve_config(ctx: Context, plan: ServeOptions, base_url: str = _PLACEHOLDER_URL) -> "Config":
    """Return the settings of the server; ``base_url`` holds where they name none. Raise Stop (2) for an invalid one."""
    from docshare.server.config import ConfigError, load_config
    from docshare.server.serve import allow_local_webhooks

    environ = background.drop_instance_settings(ctx.env) if plan.ephemeral else ctx.env
    try:
        config = load_config(plan.settings, environ, ctx.data_dir, base_url)
    except ConfigError as error:
        raise Stop(ExitCode.USAGE, str(error), hint="See the settings in: man docshare-config") from None
    return allow_local_webhooks(config) if plan.dev else config


def find_owner(data_dir: Path) -> "DirectoryOwner | None":
    """Return the server that owns ``data_dir``, or None if none is running."""
    from docshare.server.instance import read_owner
    from docshare.server.store.lock import AlreadyLocked, DirectoryLock

    if not data_dir.is_dir():
        return None
    try:
        with translate_data_errors(data_dir), DirectoryLock(data_dir):
            return None
    except AlreadyLocked:
        owner = read_owner(data_dir)
        if owner is None:
            raise Stop(ExitCode.CONFLICT, f"another docshare process is using {data_dir}") from None
        return owner


@contextmanager
def start_server(ctx: Context, plan: ServeOptions) -> "Iterator[ServingInstance]":
    """Serve for the length of the block, in this process or in worker processes.

    Raise Stop: (7) if the port or the data directory is in use, (2) for wrong settings and a host that cannot confine
    the processes that open documents, (11) if the database or the storage cannot be reached, (13) if it is damaged.
    """
    from docshare.server.instance import announce, open_instance
    from docshare.server.pdf.probe import UnconfinedError
    from docshare.server.serve import InvalidHost, PortInUse, ServingInstance, bind_port, serve_instance
    from docshare.server.services.operations import environment_checks
    from docshare.server.store.lock import AlreadyLocked
    from docshare.server.supervisor import WorkerFailedError

    with ExitStack() as stack:
        try:
            port = stack.enter_context(bind_port(plan.host, plan.port))
            config = load_serve_config(ctx, plan, port.url)
            with translate_data_errors(config.data_dir):
                instance = stack.enter_context(open_instance(config))
                environment_checks.require_confinement(instance.rt)
                if config.workers > 1:
                    stack.enter_context(_run_workers(ctx, plan, config, port))
                    server = ServingInstance(instance, port.url)
                else:
                    server = stack.enter_context(serve_instance(port, instance, dev=plan.dev))
                announce(instance, port.url, port.host)
        except PortInUse as error:
            raise Stop(ExitCode.CONFLICT, str(error), hint="--port 0 selects a free port.") from None
        except InvalidHost as error:
            raise Stop(ExitCode.USAGE, str(error), hint="Check --host or DOCSHARE_HOST.") from None
        except AlreadyLocked:
            raise Stop(ExitCode.CONFLICT, f"another docshare process is using {config.data_dir}") from None
        except UnconfinedError as error:
            raise Stop(ExitCode.USAGE, str(error), hint=error.hint) from None
        except WorkerFailedError as error:
            raise Stop(ExitCode.UNREACHABLE, str(error), hint="The lines above say why.") from None
        yield server


@contextmanager
def _run_workers(ctx: Context, plan: ServeOptions, config: "Config", port: "BoundPort") -> Iterator[None]:
    """Serve ``port`` with several processes; SIGHUP replaces them."""
    from docshare.server.supervisor import WorkerOrder, run_workers

    settings = {name: str(value) for name, value in plan.settings.items() if value is not None}
    order = WorkerOrder(
        settings={**settings, "data_dir": str(config.data_dir)},
        base_url=port.url,
        number=0,
        descriptors=[sock.fileno() for sock in port.sockets],
        log=plan.log,
        access=not (plan.files or plan.command),
        dev=plan.dev,
    )
    with (
        run_workers(order, config.workers, ctx.env, port.close) as supervisor,
        background.handle_signal("SIGHUP", supervisor.request_exchange),
    ):
        yield
