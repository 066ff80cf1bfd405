"""Run the server of ``docshare serve``, and share files or run a command against it until it is stopped."""

import logging
import shlex
import shutil
import subprocess
import tempfile
import threading
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from docshare.cli.commands.serve import address as listen
from docshare.cli.commands.serve import share
from docshare.cli.commands.serve.startup import ServeOptions, find_owner, load_serve_config, start_server
from docshare.cli.framework import background
from docshare.cli.framework.admin_channel import run_on_directory, translate_data_errors
from docshare.cli.framework.context import Context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.sources import build_items, check_item
from docshare.cli.local.storage import replace_file
from docshare.contract.plans import Plan as AccountPlan

if TYPE_CHECKING:
    from docshare.server.instance import DirectoryOwner
    from docshare.server.serve import ServingInstance
    from docshare.server.services.accounts.accounts import FirstRunResult

_API_KEY_NAME = "serve"
_TASK_STOP_TIMEOUT_S = 30.0  # seconds for the command of --exec to exit after SIGTERM
_CLEANUP_TIMEOUT_S = 0.2  # seconds for the task to clear its status line before the next output


@dataclass(frozen=True)
class ServerAddress:
    """A server: its ``url`` on this host, the public ``base_url``, and an API key of its owner or an empty string."""

    url: str
    base_url: str
    token: str


def check_files(files: list[Path], demo: bool) -> tuple[Path, ...]:
    """Return the files to share, with the sample document for ``demo``. Raise Stop (2) for an unusable one."""
    for item in build_items([str(path) for path in files], None, command="serve"):
        refusal = check_item(item, command="serve").refusal
        if refusal is not None:
            raise refusal
    if demo:
        import docshare.server

        return (*files, Path(docshare.server.__file__).parent / "demo" / "docshare-tour.pdf")
    return tuple(files)


def run_serve(ctx: Context, plan: ServeOptions) -> int:
    """Run the server, or share the files through the one that owns the data directory, and return the exit code."""
    _configure_log(ctx, plan.log, quiet=bool(plan.files or plan.command))
    with ExitStack() as stack:
        stop = stack.enter_context(background.trap_signals())
        if plan.ephemeral:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="docshare-"))
            plan.settings["data_dir"] = Path(folder) / "data"
        config = load_serve_config(ctx, plan)
        owner = find_owner(config.data_dir)
        if owner is not None:
            return _share_through_owner(ctx, plan, config.data_dir, owner, stop)
        return _run_server(ctx, plan, stack.enter_context(start_server(ctx, plan)), stop)


def _run_server(ctx: Context, plan: ServeOptions, server: "ServingInstance", stop: threading.Event) -> int:
    """Run the server, announce it, do the task of the options, and wait until it is stopped."""
    from docshare.server.admin import run_command
    from docshare.server.rules.mails import is_placeholder
    from docshare.server.services.accounts import accounts

    rt = server.instance.rt
    with translate_data_errors(rt.config.data_dir):
        first = accounts.initialize_instance(rt, AccountPlan.from_tier(plan.tier))
    _set_up_owner(ctx, plan, server, first)
    listen.warn_if_exposed(ctx, plan.host, rt.config.base_url)
    if rt.mailer.is_configured and is_placeholder(first.account.email):
        ctx.warn(
            f"emails to {first.account.email} wait until your address is set: "
            f"docshare admin account set-email {first.account.email} YOU@EXAMPLE.COM"
        )
    if plan.dev:
        ctx.warn("--dev allows webhooks to addresses of this machine")
    with ExitStack() as stack:
        token = ""
        if plan.files or plan.command or plan.print_env:
            with translate_data_errors(rt.config.data_dir):
                key = run_command(rt, "key create", {"email": first.account.email, "name": _API_KEY_NAME})
            token = key["key"]
            if not plan.print_env:
                stack.callback(run_command, rt, "key revoke", {"uuid": key["uuid"]})
        try:
            _announce_ready(ctx, plan, rt.config.base_url, token)
        except Stop as stop_:
            if plan.files or plan.print_env:
                raise
            ctx.warn(f"{stop_.detail}; the server is running nevertheless")  # such as a daemon without standard streams
        _log_event(ctx, "started", url=server.url, baseUrl=rt.config.base_url, dataDir=str(rt.config.data_dir))
        stack.callback(_log_event, ctx, "stopped", url=server.url)
        return _serve_until_stopped(ctx, plan, stop, ServerAddress(server.url, rt.config.base_url, token))


def _share_through_owner(
    ctx: Context, plan: ServeOptions, data_dir: Path, owner: "DirectoryOwner", stop: threading.Event
) -> int:
    """Share the files through the server that already owns the data directory."""
    if not plan.files:
        raise Stop(
            ExitCode.CONFLICT,
            f"a server is already running on {data_dir}: process {owner.pid} at {owner.base_url}",
            hint="Stop it first, or use another --data. To share a file through it: docshare serve FILE",
        )
    email = run_on_directory(data_dir, "owner", {})["email"]
    owner = find_owner(data_dir) or owner  # the answer may be of a server that was starting at another address
    ctx.note(f"using the running server (process {owner.pid})")
    key = run_on_directory(data_dir, "key create", {"email": email, "name": _API_KEY_NAME})
    try:
        _announce_ready(ctx, plan, owner.base_url, key["key"])
        return _serve_until_stopped(ctx, plan, stop, ServerAddress(owner.url, owner.base_url, key["key"]))
    finally:
        run_on_directory(data_dir, "key revoke", {"uuid": key["uuid"]})


def _serve_until_stopped(ctx: Context, plan: ServeOptions, stop: threading.Event, address: ServerAddress) -> int:
    """Do the task of the options until it ends or a signal arrives, and return the exit code."""
    env = {**ctx.env, "DOCSHARE_URL": address.url, "DOCSHARE_TOKEN": address.token}
    if plan.settings["data_dir"] is not None:
        env["DOCSHARE_DATA_DIR"] = str(Path(plan.settings["data_dir"]).expanduser().absolute())
    own_context = ctx.derive(
        env=background.make_ephemeral_env(env, plan.settings["data_dir"]) if plan.ephemeral else env,
        sleep=lambda seconds: background.sleep_or_stop(stop, seconds),
    )
    task = background.BackgroundTask(lambda: _run_task(own_context, plan, address.base_url, stop), stop)
    task.start()
    background.wait_in_main_thread(stop)
    task.join(_CLEANUP_TIMEOUT_S)
    if not task.has_ended:
        ctx.note("stopping after running requests finish")
    task.join(_TASK_STOP_TIMEOUT_S)
    return task.result()


def _run_task(ctx: Context, plan: ServeOptions, base_url: str, stop: threading.Event) -> int:
    links = share.share(ctx, plan.files) if plan.files else []
    if not plan.command:
        at_home = not plan.ephemeral and plan.settings["data_dir"] is None
        share.print_next_steps(ctx, shared=bool(links), at_home=at_home, kept=not plan.ephemeral)
    if plan.open_page:
        ctx.open_browser(links[0] if links else base_url)
    if plan.command:
        return _run_command(ctx, plan.command, stop)
    if links:
        share.follow_readers(ctx)
    stop.wait()
    return ExitCode.OK


def _run_command(ctx: Context, command: tuple[str, ...], stop: threading.Event) -> int:
    """Run ``command`` with the server in its environment and return its exit code."""
    program = shutil.which(command[0])
    if program is None:
        raise Stop(ExitCode.USAGE, f"--exec: program not found: {command[0]}")
    child = subprocess.Popen([program, *command[1:]], env=dict(ctx.env))
    threading.Thread(target=_terminate_on_stop, args=(stop, child), daemon=True).start()
    code = child.wait()
    return code if code >= 0 else 128 - code


def _terminate_on_stop(stop: threading.Event, child: "subprocess.Popen[bytes]") -> None:
    stop.wait()
    child.terminate()


def _configure_log(ctx: Context, log: str, *, quiet: bool) -> None:
    from docshare.server.logs import LOGGER, configure_logging

    configure_logging(log, access=not quiet or log == "json")
    if log == "json":  # from now on, every line on stderr is JSON
        ctx.log = lambda text, role: LOGGER.log(logging.WARNING if role in ("warn", "error") else logging.INFO, text)


def _log_event(ctx: Context, event: str, **facts: object) -> None:
    from docshare.server.logs import LOGGER

    if ctx.log is not None:
        LOGGER.info(event, extra=facts)


def _set_up_owner(ctx: Context, plan: ServeOptions, server: "ServingInstance", first: "FirstRunResult") -> None:
    """Set up the profile "local" for the default data directory; for others, print the API key of a new owner once."""
    url = server.instance.rt.config.base_url
    if plan.ephemeral:
        return
    if plan.settings["data_dir"] is None:
        share.set_up_profile(ctx, server.instance, first)
    elif first.api_key and ctx.log is not None:
        ctx.note(
            f"owner created; for a key run: docshare admin key create {shlex.quote(first.account.email)} --data DIR"
        )
    elif first.api_key:
        ctx.err(f"API key of the owner (shown once): {first.api_key}")
        ctx.note(f"to use it in another terminal: docshare profile add NAME --url {shlex.quote(url)} --with-token")


def _announce_ready(ctx: Context, plan: ServeOptions, base_url: str, token: str) -> None:
    """Print the base URL, or with --print-env the two lines for a shell to evaluate."""
    if plan.ready_file is not None:
        replace_file(plan.ready_file, base_url + "\n")
    if plan.print_env:
        ctx.print(f"export DOCSHARE_URL={shlex.quote(base_url)}\nexport DOCSHARE_TOKEN={shlex.quote(token)}")
    else:
        ctx.print(base_url)
    ctx.flush()
