"""Which of three ways the deliveries come that ``docshare webhooks listen`` shows."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from docshare.cli.commands.events.follow import Limits as FeedLimits
from docshare.cli.commands.events.selection import checked_file
from docshare.cli.commands.events.start import account_of
from docshare.cli.commands.webhooks.create import chosen_kinds
from docshare.cli.commands.webhooks.listen import bridge as listening_bridge
from docshare.cli.commands.webhooks.listen.bridge import Bridge
from docshare.cli.commands.webhooks.listen.forward import Forwarder, checked
from docshare.cli.commands.webhooks.listen.local import LocalSubscription
from docshare.cli.commands.webhooks.listen.options import ListenOptions
from docshare.cli.commands.webhooks.listen.output import Journal, journal
from docshare.cli.commands.webhooks.listen.public import PublicWebhook
from docshare.cli.commands.webhooks.listen.receive import Acting, Desk, Limits, attend
from docshare.cli.commands.webhooks.signatures import read_secret
from docshare.cli.framework.admin_channel import directory_here, origins_of
from docshare.cli.framework.arguments import FileNames, of_operator
from docshare.cli.framework.connection import keep_secret
from docshare.cli.framework.context import Context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.signals import shielded
from docshare.cli.terminal.text import seconds
from docshare.contract.webhooks import SECRET_HEX_CHARS, SECRET_PREFIX

if TYPE_CHECKING:
    from docshare.client import Client


class _Plan(NamedTuple):
    """What was asked for, checked. ``directory``: of the server on this machine, None elsewhere; ``secret``: given in a
    file, empty without; times in seconds."""

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
    acting: Acting
    limits: Limits


class _Feeding(NamedTuple):
    """What only bridging asks for."""

    cursor: str
    start: str | None
    reset: bool
    interval: float
    skip_failed: bool

    @property
    def given(self) -> bool:
        """Whether any of it was asked for."""
        return bool(self.cursor or self.start or self.reset or self.skip_failed)


def listened(ctx: Context, given: ListenOptions) -> ExitCode:
    """Listen as asked for until it ends; returns the exit code. Stop (2) for options that exclude each other."""
    plan = _plan(ctx, given)
    feeding = _Feeding(given.cursor, given.start, given.reset, seconds(given.interval), given.skip_failed)
    _check(ctx, plan, feeding)
    with journal(ctx, plan.save, beside=plan.print_secret) as book:
        if plan.public_url is not None:
            return _through_tunnel(ctx, plan, book, plan.public_url)
        return (
            _bridged(ctx, plan, book, feeding) if plan.directory is None else _locally(ctx, plan, book, plan.directory)
        )


def _plan(ctx: Context, given: ListenOptions) -> _Plan:
    return _Plan(
        directory=_directory(ctx, given.data, public_url=given.public_url, bridge=given.bridge),
        public_url=given.public_url,
        port=given.port,
        events=tuple(chosen_kinds(given.events, everything=given.events is None)),
        file=given.file,
        save=given.save,
        secret="" if given.secret_file is None else read_secret(ctx, given.secret_file),
        print_secret=given.print_secret,
        test=given.test,
        forwarder=Forwarder(
            tuple(checked(url) for url in given.forward_to or ()),
            seconds(given.forward_timeout),
            verify=not given.insecure_forward,
            show=given.show_response,
        ),
        acting=_acting(seconds(given.latency), given.fail_rate, given.status),
        limits=Limits(
            count=given.exit_after,
            timeout=None if given.timeout is None else seconds(given.timeout),
            give_up_after=seconds(given.give_up_after),
            heartbeat=seconds(given.heartbeat),
        ),
    )


def _directory(ctx: Context, data: Path | None, *, public_url: str | None, bridge: bool) -> Path | None:
    """The data directory of the server on this machine, if that is to be listened to. Stop (2) for two ways at once."""
    if sum((data is not None, public_url is not None, bridge)) > 1:
        raise Stop(ExitCode.USAGE, "--data, --public-url and --bridge exclude each other")
    return None if public_url is not None or bridge else directory_here(ctx, data)


def _acting(latency: float, fail_rate: float | None, status: int | None) -> Acting:
    if fail_rate is None:
        fail_rate = 0.0 if status is None else 1.0
    return Acting(latency, 500 if status is None else status, fail_rate)


def _check(ctx: Context, plan: _Plan, feeding: _Feeding) -> None:
    """Stop (2) for options that mean nothing where the deliveries come from."""
    bridging = plan.directory is None and plan.public_url is None
    if feeding.given and not bridging:
        raise Stop(ExitCode.USAGE, "--cursor, --from, --reset and --skip-failed are for --bridge")
    if bridging and (plan.acting.latency or plan.acting.fail_rate):
        raise Stop(
            ExitCode.USAGE, "no server waits for an answer while bridging: no --latency, --fail-rate or --status"
        )
    if bridging and plan.test:
        raise Stop(
            ExitCode.USAGE, "no server sends a test while bridging", hint="See docshare webhooks sample, and replay."
        )
    if plan.public_url is not None:
        if plan.secret:
            raise Stop(ExitCode.USAGE, "the server makes the secret of a webhook: no --secret-file with --public-url")
        if not plan.port:
            raise Stop(ExitCode.USAGE, "--public-url needs --port: where your tunnel leads on this machine")
    if plan.print_secret and ctx.options.format is not None:
        raise Stop(
            ExitCode.USAGE, "--print-secret leaves no room for --format", hint="Deliveries can be kept by --save F."
        )


def _locally(ctx: Context, plan: _Plan, book: Journal, directory: Path) -> ExitCode:
    """Source 1: the server on this machine."""
    from docshare.cli.commands.webhooks.listen.receiver import receiving

    wish = {"events": ",".join(plan.events)}
    desk = Desk(ctx, book, plan.forwarder, plan.acting, plan.limits.count)
    subscription = LocalSubscription(
        ctx, directory, wish | _mine(ctx, plan, directory), plan.secret, plan.limits.give_up_after
    )
    with receiving(plan.port, desk.take, desk.answered) as receiver, ExitStack() as held:
        held.callback(_stop, subscription)
        subscription.start(receiver.url)
        desk.arm(subscription.secret)
        ctx.note(f"listening to the server on this machine ({directory}) as {subscription.account}")
        ctx.note("these are real deliveries: signed, and tried again by the server when they fail")
        _show_secret(ctx, plan, subscription.secret)
        desk.probe(subscription.test, receiver.url)
        ctx.note(f"ready: deliveries arrive at {receiver.url}")
        ctx.note("to cause an event, in another terminal: docshare trigger file.viewed --file @last")
        if plan.test:
            subscription.test()
        return attend(ctx, desk, plan.limits, subscription.pulse)


def _mine(ctx: Context, plan: _Plan, directory: Path) -> dict[str, str]:
    """Whose events are wanted, and of which file. Without a credential for that server, those of its owner."""
    connection = ctx.connection
    if connection.token is None or connection.origin not in origins_of(directory):
        return {} if plan.file is None else {"file": of_operator(ctx, plan.file)}
    with ctx.client() as client:
        found = {"account": account_of(client), "file": _file(ctx, client, plan)}
    return {key: value for key, value in found.items() if value is not None}


def _through_tunnel(ctx: Context, plan: _Plan, book: Journal, url: str) -> ExitCode:
    """Source 2: a webhook of the account, at an address that leads here."""
    from docshare.cli.commands.webhooks.listen.receiver import receiving

    desk = Desk(ctx, book, plan.forwarder, plan.acting, plan.limits.count)
    with ctx.client() as client, receiving(plan.port, desk.take, desk.answered), ExitStack() as held:
        webhook = PublicWebhook(ctx, client, url, plan.events, _file(ctx, client, plan), plan.limits.give_up_after)
        held.callback(_stop, webhook)
        webhook.start()
        desk.arm(webhook.secret)
        ctx.note(f"listening through {url} with a webhook of {client.origin}, which is deleted at the end")
        _show_secret(ctx, plan, webhook.secret)
        desk.probe(webhook.test, url)
        ctx.note("ready: a test delivery has arrived")
        if plan.test:
            webhook.test()
        return attend(ctx, desk, plan.limits, webhook.pulse)


def _bridged(ctx: Context, plan: _Plan, book: Journal, feeding: _Feeding) -> ExitCode:
    """Source 3: the feed of a server elsewhere."""
    with ctx.client() as client:
        wanted = listening_bridge.Plan(
            events=plan.events,
            file=_file(ctx, client, plan),
            cursor=feeding.cursor,
            start=feeding.start,
            reset=feeding.reset,
            interval=feeding.interval,
            heartbeat=plan.limits.heartbeat,
            skip_failed=feeding.skip_failed,
        )
        ctx.note(f"bridging the feed of {client.origin}: deliveries are made here, marked X-Docshare-Bridge: 1")
        secret = plan.secret or _fresh_secret()
        _show_secret(ctx, plan, secret)
        limits = FeedLimits(
            count=plan.limits.count, timeout=plan.limits.timeout, give_up_after=plan.limits.give_up_after
        )
        return Bridge(ctx, client, wanted, secret, book, plan.forwarder).run(limits)


def _stop(source: LocalSubscription | PublicWebhook) -> None:
    with shielded():  # what is not taken back now would be told of events that nobody hears
        source.stop()


def _file(ctx: Context, client: "Client", plan: _Plan) -> str | None:
    return checked_file(ctx, client, FileNames(ctx, client), plan.file)


def _fresh_secret() -> str:
    import secrets

    return SECRET_PREFIX + secrets.token_hex(SECRET_HEX_CHARS // 2)


def _show_secret(ctx: Context, plan: _Plan, secret: str) -> None:
    """Tell the secret once, unless it came from a file of the user; from then on no message holds it."""
    if plan.print_secret:
        ctx.print(secret)
        ctx.flush()
    elif not plan.secret:
        ctx.err(f"signing secret, shown once: {secret}")
    keep_secret(ctx, secret)
