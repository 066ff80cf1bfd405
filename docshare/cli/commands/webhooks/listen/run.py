"""Run ``docshare webhooks listen`` with one of its three sources of deliveries."""

import secrets
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from docshare.cli.commands.events.follow import TailLimits as FeedLimits
from docshare.cli.commands.events.selection import resolve_file
from docshare.cli.commands.events.start import fetch_account_id
from docshare.cli.commands.webhooks.create import parse_kinds
from docshare.cli.commands.webhooks.listen import bridge as listening_bridge
from docshare.cli.commands.webhooks.listen.bridge import Bridge
from docshare.cli.commands.webhooks.listen.forward import Forwarder, check_forward_url
from docshare.cli.commands.webhooks.listen.local import LocalSubscription
from docshare.cli.commands.webhooks.listen.options import ListenOptions
from docshare.cli.commands.webhooks.listen.output import Journal, open_journal
from docshare.cli.commands.webhooks.listen.public import PublicWebhook
from docshare.cli.commands.webhooks.listen.receive import DeliveryHandler, FaultInjection, ListenLimits, wait_until_done
from docshare.cli.commands.webhooks.listen.receiver import run_receiver
from docshare.cli.commands.webhooks.signatures import read_secret
from docshare.cli.framework.admin_channel import find_local_data_dir, list_origins
from docshare.cli.framework.arguments import FileResolver
from docshare.cli.framework.connection import keep_secret
from docshare.cli.framework.context import Context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.operator_files import resolve_operator_file
from docshare.cli.framework.signals import defer_signals
from docshare.cli.terminal.text import parse_duration
from docshare.contract.webhooks import SECRET_HEX_CHARS, SECRET_PREFIX

if TYPE_CHECKING:
    from docshare.client import Client


@dataclass(frozen=True)
class _ListenConfig:
    """The validated options. ``directory`` is the data directory of a server on this machine, or None; ``secret`` comes
    from a file or is empty; times are in seconds."""

    directory: Path | None
    public_url: str | None
    port: int
    events: tuple[str, ...]
    file: str | None
    save: Path | None
    secret: str
    print_secret: bool
    test: bool
    forwarder: Forwarder
    faults: FaultInjection
    limits: ListenLimits


@dataclass(frozen=True)
class _FeedOptions:
    """The options that apply only to bridging."""

    cursor: str
    start: str | None
    reset: bool
    interval: float
    skip_failed: bool

    @property
    def is_given(self) -> bool:
        """Return whether any of the options was given."""
        return bool(self.cursor or self.start or self.reset or self.skip_failed)


def run_listener(ctx: Context, given: ListenOptions) -> ExitCode:
    """Listen until a limit is reached and return the exit code.

    Raise Stop (2) for options that cannot be used together.
    """
    plan = _build_config(ctx, given)
    feeding = _FeedOptions(given.cursor, given.start, given.reset, parse_duration(given.interval), given.skip_failed)
    _check_options(ctx, plan, feeding)
    with open_journal(ctx, plan.save, beside=plan.print_secret) as book:
        if plan.public_url is not None:
            return _listen_through_tunnel(ctx, plan, book, plan.public_url)
        return (
            _run_bridge(ctx, plan, book, feeding)
            if plan.directory is None
            else _listen_locally(ctx, plan, book, plan.directory)
        )


def _build_config(ctx: Context, given: ListenOptions) -> _ListenConfig:
    return _ListenConfig(
        directory=_find_directory(ctx, given.data, public_url=given.public_url, bridge=given.bridge),
        public_url=given.public_url,
        port=given.port,
        events=tuple(parse_kinds(given.events, everything=not given.events)),
        file=given.file,
        save=given.save,
        secret="" if given.secret_file is None else read_secret(ctx, given.secret_file),
        print_secret=given.print_secret,
        test=given.test,
        forwarder=Forwarder(
            tuple(check_forward_url(url) for url in given.forward_to or ()),
            parse_duration(given.forward_timeout),
            verify=not given.insecure_forward,
            keep_responses=given.show_response,
        ),
        faults=_build_fault_injection(parse_duration(given.latency), given.fail_rate, given.status),
        limits=ListenLimits(
            count=given.exit_after,
            timeout=None if given.timeout is None else parse_duration(given.timeout),
            give_up_after=parse_duration(given.give_up_after),
            heartbeat=parse_duration(given.heartbeat),
        ),
    )


def _find_directory(ctx: Context, data: Path | None, *, public_url: str | None, bridge: bool) -> Path | None:
    """Return the data directory if the source is a server on this machine. Raise Stop (2) for several sources."""
    if sum((data is not None, public_url is not None, bridge)) > 1:
        raise Stop(ExitCode.USAGE, "--data, --public-url, and --bridge cannot be used together")
    return None if public_url is not None or bridge else find_local_data_dir(ctx, data)


def _build_fault_injection(latency: float, fail_rate: float | None, status: int | None) -> FaultInjection:
    if fail_rate is None:
        fail_rate = 0.0 if status is None else 1.0
    return FaultInjection(latency, 500 if status is None else status, fail_rate)


def _check_options(ctx: Context, plan: _ListenConfig, feeding: _FeedOptions) -> None:
    """Raise Stop (2) for options that the source of the deliveries does not support."""
    bridging = plan.directory is None and plan.public_url is None
    if feeding.is_given and not bridging:
        raise Stop(ExitCode.USAGE, "--cursor, --from, --reset, and --skip-failed require --bridge")
    if bridging and (plan.faults.latency or plan.faults.fail_rate):
        raise Stop(
            ExitCode.USAGE,
            "--bridge cannot be used together with --latency, --fail-rate, or --status: no server waits for a response",
        )
    if bridging and plan.test:
        raise Stop(
            ExitCode.USAGE,
            "--test and --bridge cannot be used together",
            hint="Use docshare webhooks sample and replay.",
        )
    if plan.public_url is not None:
        if plan.secret:
            raise Stop(
                ExitCode.USAGE, "--secret-file and --public-url cannot be used together: the server creates the secret"
            )
        if not plan.port:
            raise Stop(ExitCode.USAGE, "--public-url requires --port, the local end of your tunnel")
    if plan.print_secret and ctx.options.format is not None:
        raise Stop(
            ExitCode.USAGE,
            "--print-secret and --format cannot be used together",
            hint="Use --save F to save deliveries.",
        )


def _listen_locally(ctx: Context, plan: _ListenConfig, book: Journal, directory: Path) -> ExitCode:
    """Listen to the server on this machine."""
    arguments = {"events": ",".join(plan.events)}
    handler = DeliveryHandler(ctx, book, plan.forwarder, plan.faults, plan.limits.count)
    subscription = LocalSubscription(
        ctx, directory, arguments | _build_filter(ctx, plan, directory), plan.secret, plan.limits.give_up_after
    )
    with run_receiver(plan.port, handler.handle, handler.finish_response) as receiver, ExitStack() as held:
        held.callback(_stop, subscription)
        subscription.start(receiver.url)
        handler.set_secret(subscription.secret)
        ctx.note(f"listening to the server on this machine ({directory}) as {subscription.account}")
        ctx.note("deliveries are real: signed, and retried by the server when they fail")
        _show_secret(ctx, plan, subscription.secret)
        handler.probe(subscription.test, receiver.url)
        ctx.note(f"ready: deliveries arrive at {receiver.url}")
        ctx.note("to cause an event, run in another terminal: docshare trigger file.viewed --file @last")
        if plan.test:
            subscription.test()
        return wait_until_done(ctx, handler, plan.limits, subscription.keep_alive)


def _build_filter(ctx: Context, plan: _ListenConfig, directory: Path) -> dict[str, str]:
    """Return the account and the file to filter by. Without a credential for the server, the account is its owner."""
    connection = ctx.connection
    if connection.token is None or connection.origin not in list_origins(directory):
        return {} if plan.file is None else {"file": resolve_operator_file(ctx, plan.file, directory)}
    with ctx.client() as client:
        found = {"account": fetch_account_id(client), "file": _resolve_file_option(ctx, client, plan)}
    return {key: value for key, value in found.items() if value is not None}


def _listen_through_tunnel(ctx: Context, plan: _ListenConfig, book: Journal, url: str) -> ExitCode:
    """Listen through a tunnel, with a webhook of the account."""
    handler = DeliveryHandler(ctx, book, plan.forwarder, plan.faults, plan.limits.count)
    with ctx.client() as client, run_receiver(plan.port, handler.handle, handler.finish_response), ExitStack() as held:
        webhook = PublicWebhook(
            ctx, client, url, plan.events, _resolve_file_option(ctx, client, plan), plan.limits.give_up_after
        )
        held.callback(_stop, webhook)
        webhook.start()
        handler.set_secret(webhook.secret)
        ctx.note(f"listening at {url} with a temporary webhook of {client.origin}")
        _show_secret(ctx, plan, webhook.secret)
        handler.probe(webhook.test, url)
        ctx.note("ready: a test delivery arrived")
        if plan.test:
            webhook.test()
        return wait_until_done(ctx, handler, plan.limits, webhook.keep_alive)


def _run_bridge(ctx: Context, plan: _ListenConfig, book: Journal, feeding: _FeedOptions) -> ExitCode:
    """Bridge the feed of a server elsewhere."""
    with ctx.client() as client:
        wanted = listening_bridge.BridgeOptions(
            events=plan.events,
            file=_resolve_file_option(ctx, client, plan),
            cursor=feeding.cursor,
            start=feeding.start,
            reset=feeding.reset,
            interval=feeding.interval,
            heartbeat=plan.limits.heartbeat,
            skip_failed=feeding.skip_failed,
        )
        ctx.note(f"bridging the feed of {client.origin}; deliveries have the header X-Docshare-Bridge: 1")
        secret = plan.secret or _generate_secret()
        _show_secret(ctx, plan, secret)
        limits = FeedLimits(
            count=plan.limits.count, timeout=plan.limits.timeout, give_up_after=plan.limits.give_up_after
        )
        return Bridge(ctx, client, wanted, secret, book, plan.forwarder).run(limits)


def _stop(source: LocalSubscription | PublicWebhook) -> None:
    with defer_signals():  # otherwise the server keeps sending events to a URL where nothing listens
        source.stop()


def _resolve_file_option(ctx: Context, client: "Client", plan: _ListenConfig) -> str | None:
    return resolve_file(ctx, client, FileResolver(ctx, client), plan.file)


def _generate_secret() -> str:
    return SECRET_PREFIX + secrets.token_hex(SECRET_HEX_CHARS // 2)


def _show_secret(ctx: Context, plan: _ListenConfig, secret: str) -> None:
    """Print the secret unless it came from a file, and redact it from all later messages."""
    if plan.print_secret:
        ctx.print(secret)
        ctx.flush()
    elif not plan.secret:
        ctx.err(f"signing secret (shown once): {secret}")
    keep_secret(ctx, secret)
