"""Run ``docshare admin`` commands on a data directory: in this process, or on the server that is running on it.

Only one process can open an SQLite database, so a running server of such an instance runs the command itself. On
PostgreSQL, the command runs in this process, unless it is one of ``_SERVER_COMMANDS``.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.dry_run import preview_request
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.options import parse_directory
from docshare.cli.terminal.output import Spec
from docshare.client.errors import NotConnected, TimedOut

if TYPE_CHECKING:
    from docshare.server.config import Config
    from docshare.server.instance import DirectoryOwner

_TIMEOUT_S = 60  # a sweep or a check of a large instance takes a while
_STARTUP_WAIT_S = 5.0  # seconds to wait for a server that is starting
# These need the memory of the running server, so they never run in this process while one is running.
_SERVER_COMMANDS = ("doctor", "probe start", "probe end")
_INIT_COMMAND = "account create"  # the only command that may create a data directory
_DATA_FILES = ("docshare.db", "lock")  # one of them exists in every data directory that was ever used
_DEFAULT_URL = "http://127.0.0.1:8787"
_LOCAL_ORIGINS = ("built-in", "profile local")  # origins of the URL of a server that ``serve`` runs

Email = Annotated[str, typer.Argument(metavar="EMAIL", help="Email address of the account.")]
# Accepted before and after the command: scripts write it in either place.
Data = Annotated[
    Path | None,
    typer.Option("--data", metavar="DIR", parser=parse_directory, help="Data directory. [env: DOCSHARE_DATA_DIR]"),
]


def run_on_directory(directory: Path, command: str, args: dict[str, str]) -> Any:
    """Run an admin command on a data directory, in this process or on its running server.

    Parameters: ``command`` as typed after ``docshare admin``; ``args`` by name. Return what ``--json`` prints.
    Raise the Problem of a failed command, and Stop (11) if the server that owns the directory does not answer.
    """
    from docshare.server.admin import run_command
    from docshare.server.instance import join_instance, open_instance
    from docshare.server.store.lock import AlreadyLocked

    if command != _INIT_COMMAND:
        require_data(directory)
    with translate_data_errors(directory):
        config = load_admin_config(directory)
        try:
            with open_instance(config) as instance:
                return run_command(instance.rt, command, args)
        except AlreadyLocked:
            if config.database_url is None or command in _SERVER_COMMANDS:
                return _delegate_to_server(directory, command, args)
        with join_instance(config) as instance:  # several processes may use its database
            return run_command(instance.rt, command, args)


def load_admin_config(directory: Path) -> "Config":
    """Return the configuration of ``directory``. If no base URL is configured, it is that of the server that last ran
    on the directory. Raise ConfigError."""
    from docshare.server.config import load_config
    from docshare.server.instance import read_owner

    last = read_owner(directory) if directory.is_dir() else None
    return load_config(
        {"data_dir": directory}, current_context().env, directory, last.base_url if last else _DEFAULT_URL
    )


@contextmanager
def translate_data_errors(data_dir: Path) -> Iterator[None]:
    """Translate errors of opening or reading a data directory into Stop.

    The exit code is 13 for a damaged database; 11 for a full or failing disk, and for a database or storage that cannot
    be reached; 2 for an unusable directory or master key, invalid settings, and a database of a later version.
    """
    import shlex

    from docshare.server import faults
    from docshare.server.config import ConfigError
    from docshare.server.store.master_keys import MasterKeyError
    from docshare.server.store.migrations import DatabaseTooNew

    try:
        yield
    except (ConfigError, DatabaseTooNew, MasterKeyError) as error:
        raise Stop(ExitCode.USAGE, str(error)) from None
    # Of any class, because streams and locks raise errors of the driver of PostgreSQL, an optional dependency.
    except Exception as error:
        is_wrong_path = isinstance(error, PermissionError | NotADirectoryError)
        fault = None if is_wrong_path else faults.find_fault(error)
        if fault is faults.DATABASE_DAMAGED:
            hint = f"See what is intact: docshare admin check --data {shlex.quote(str(data_dir))}; docshare help backup"
            raise Stop(ExitCode.CHECK_FAILED, f"the database in {data_dir} is damaged: {error}", hint=hint) from None
        if fault is not None:
            reason = faults.find_reason(error)
            raise Stop(
                ExitCode.UNREACHABLE, f"cannot open {data_dir}: {fault.log}{reason and ': '}{reason}", hint=fault.hint
            ) from None
        if not isinstance(error, OSError):
            raise
        raise Stop(ExitCode.USAGE, f"cannot use {error.filename or data_dir}: {error.strerror or error}") from None


def has_data(directory: Path) -> bool:
    """Return whether a server or ``account create`` has ever used ``directory``."""
    return any((directory / name).exists() for name in _DATA_FILES)


def require_data(directory: Path) -> None:
    """Raise Stop (2) if no server or ``account create`` has ever used ``directory``.

    A mistyped directory must not look like a healthy empty one. The lock file counts, too, because a server that starts
    for the first time creates it before the database.
    """
    if not has_data(directory):
        raise Stop(
            ExitCode.USAGE,
            f"there is no docshare data in {directory}",
            hint="Name the directory with --data or DOCSHARE_DATA_DIR; docshare serve creates a new one.",
        )


def _delegate_to_server(directory: Path, command: str, args: dict[str, str]) -> Any:
    """Run the command on the server that owns ``directory``. Wait for it if it is still starting."""
    import requests

    from docshare.server.instance import read_running_owner

    ctx = current_context()
    give_up = ctx.monotonic() + _STARTUP_WAIT_S
    while True:
        owner = read_running_owner(directory)
        try:
            if owner is not None:
                return _post_command(owner, {"command": command, "args": args})
        except requests.ConnectionError:
            pass
        if ctx.monotonic() >= give_up:
            raise _no_answer_error(directory)
        ctx.sleep(0.2)


def _no_answer_error(directory: Path) -> Stop:
    """Return the error for a process that owns ``directory`` and does not answer at its stored address."""
    from docshare.server.store import reserve

    hint = ""
    if reserve.is_spent(directory):
        hint = (
            "The disk is full, so the server may not have stored its address. Free disk space and restart the server."
        )
    return Stop(ExitCode.UNREACHABLE, f"the docshare process that uses {directory} does not answer", hint=hint)


def _post_command(owner: "DirectoryOwner", order: dict[str, Any]) -> Any:
    import requests

    from docshare.client.http.answers import parse_refusal

    with requests.Session() as http:
        http.trust_env = False  # loopback must not use a proxy, and ~/.netrc must not replace the key
        answer = http.post(
            f"{owner.url}/_admin",
            json=order,
            headers={"Authorization": f"Instance {owner.key}"},
            timeout=_TIMEOUT_S,
            allow_redirects=False,
        )
    if answer.status_code != 200:
        wall = current_context().now() / 1000
        raise parse_refusal(
            answer.status_code, answer.headers, answer.content, method="POST", path="/_admin", wall=wall
        )
    return answer.json()


class RunningServer:
    """The server that is running on ``directory``. Raises Stop (11) if there is none.

    On PostgreSQL, most commands run in this process, so they also work while the server restarts.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._owner = _find_running_owner(directory)

    @property
    def owner(self) -> "DirectoryOwner":
        """The process ID, the addresses and the key that the server wrote to the directory."""
        return self._owner

    def reconnect(self) -> None:
        """Find the server again after a restart, possibly at another URL. Raise TransportError if it is not back."""
        try:
            self._owner = _find_running_owner(self._directory)
        except Stop as stop:
            raise NotConnected(stop.detail) from stop

    def run_command(self, command: str, args: dict[str, str]) -> Any:
        """Run an admin command and return what ``--json`` prints.

        Raise the Problem of a failed command, and TransportError if the server or its database does not answer.
        """
        import requests

        try:
            if command not in _SERVER_COMMANDS and self._has_shared_database():
                return run_on_directory(self._directory, command, args)
            return _post_command(self._owner, {"command": command, "args": args})
        except Stop as stop:
            if stop.exit is ExitCode.UNREACHABLE:
                raise NotConnected(stop.detail) from stop
            raise
        except requests.Timeout as error:
            raise TimedOut(f"the server at {self._owner.url} does not answer") from error
        except requests.RequestException as error:
            raise NotConnected(f"the server at {self._owner.url} cannot be reached") from error

    def _has_shared_database(self) -> bool:
        with translate_data_errors(self._directory):
            return load_admin_config(self._directory).database_url is not None


def is_served(directory: Path) -> bool:
    """Return whether a server is running on ``directory``."""
    try:
        _find_running_owner(directory)
    except Stop:
        return False
    return True


def _find_running_owner(directory: Path) -> "DirectoryOwner":
    from docshare.server.instance import read_owner, read_running_owner
    from docshare.server.store.lock import AlreadyLocked, DirectoryLock

    owner = read_owner(directory) if directory.is_dir() else None
    if owner is not None:
        try:
            with DirectoryLock(directory):
                owner = None
        except AlreadyLocked:
            owner = read_running_owner(directory)
    if owner is None:
        raise Stop(
            ExitCode.UNREACHABLE, f"no docshare server is running on {directory}", hint="Start it: docshare serve"
        )
    return owner


def list_origins(directory: Path) -> tuple[str, ...]:
    """Return the local and the public origin of the server that last ran on ``directory``; empty if there is none."""
    from docshare.client.address import parse_origin

    if not has_data(directory):
        return ()  # the usual case with a remote server, and cheaper than importing the server's modules
    from docshare.server.instance import read_owner

    owner = read_owner(directory)
    return () if owner is None else (parse_origin(owner.url), parse_origin(owner.base_url))


def list_base_urls(directory: Path) -> tuple[str, ...]:
    """Return the URLs with which links of the instance in ``directory`` may begin: first the base URL of the server
    that last ran on it. Empty if the directory has no data, or its configuration is invalid."""
    from docshare.server.config import ConfigError
    from docshare.server.instance import read_owner

    if not has_data(directory):
        return ()
    owner = read_owner(directory)
    try:
        configured = load_admin_config(directory).base_url
    except ConfigError:
        return ()
    return (configured,) if owner is None else (owner.base_url, configured, owner.url)


def find_local_data_dir(context: Context, data: Path | None) -> Path | None:
    """Return ``data`` if given, else the default data directory if the current server runs on it. Return None for a
    remote server.
    """
    if data is not None:
        return data.expanduser().absolute()
    connection = context.connection
    here = connection.url.origin in _LOCAL_ORIGINS or connection.origin in list_origins(context.data_dir)
    return context.data_dir if here else None


def run_admin_command(context: typer.Context, data: Path | None, command: str, **args: str | None) -> Any:
    """Run an admin command on the directory in ``--data``, given before or after the command."""
    return run_on_directory(
        resolve_data_dir(context, data), command, {name: value for name, value in args.items() if value is not None}
    )


def resolve_data_dir(context: typer.Context, data: Path | None) -> Path:
    """Return the directory in ``--data``, given before or after the command, else the default one."""
    given: Path | None = data or context.obj
    return given.expanduser().absolute() if given else current_context().data_dir


def run_change(
    context: typer.Context, data: Path | None, dry_run: bool, spec: Spec, command: str, **args: str | None
) -> ExitCode:
    """Run an admin command that changes something and print its result; with ``dry_run``, print only the request.

    Raises the same errors as ``run_on_directory``.
    """
    if not dry_run:
        current_context().emit(run_admin_command(context, data, command, **args), spec)
        return ExitCode.OK
    if command != _INIT_COMMAND:
        require_data(resolve_data_dir(context, data))
    given = {name: value for name, value in args.items() if value is not None}
    return preview_request(current_context(), "POST", "/_admin", {"command": command, "args": given})
