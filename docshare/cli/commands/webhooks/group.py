"""``docshare webhooks``: who is told of events. Each command stands in a module of its own or with its next of kin and
is loaded when it is used: some bring much with them, and who lists webhooks does not wait for that."""

from docshare.cli.framework.app import App, Stub

_COMMANDS, _RECEIVER = "Commands", "For whoever writes a receiver"
_UPKEEP, _OFFLINE = "docshare.cli.commands.webhooks.manage", "docshare.cli.commands.webhooks.signatures"
_EXAMPLES = "docshare.cli.commands.webhooks.examples"
_STUBS = (
    Stub("create", "docshare.cli.commands.webhooks.create", _COMMANDS, "Have an address told of events."),
    Stub("list", _UPKEEP, _COMMANDS, "List the webhooks of the account.", "list"),
    Stub("show", _UPKEEP, _COMMANDS, "Show one webhook, and on a terminal its last deliveries.", "show"),
    Stub("delete", _UPKEEP, _COMMANDS, "Delete webhooks.", "delete"),
    Stub("enable", _UPKEEP, _COMMANDS, "Switch webhooks on again that were disabled.", "enable"),
    Stub(
        "test",
        "docshare.cli.commands.webhooks.test",
        _COMMANDS,
        "Send a test event now, and say what the receiver answered.",
    ),
    Stub(
        "deliveries",
        "docshare.cli.commands.webhooks.deliveries",
        _COMMANDS,
        "List what was sent to a webhook, newest first.",
    ),
    Stub("redeliver", "docshare.cli.commands.webhooks.redeliver", _COMMANDS, "Send deliveries again."),
    Stub("prune", "docshare.cli.commands.webhooks.prune", _COMMANDS, "Delete webhooks that are left over."),
    Stub(
        "listen",
        "docshare.cli.commands.webhooks.listen.command",
        _RECEIVER,
        "Receive webhooks on this machine, without a tunnel.",
    ),
    Stub("verify", _OFFLINE, _RECEIVER, "Verify the signature of a delivery, and say why it does not fit.", "verify"),
    Stub("sign", _OFFLINE, _RECEIVER, "Sign a body as the server does, and print the header line.", "sign"),
    Stub(
        "kinds",
        _EXAMPLES,
        _RECEIVER,
        "List the kinds of events: when each fires, and what stands in its data.",
        "kinds",
    ),
    Stub(
        "sample",
        _EXAMPLES,
        _RECEIVER,
        "Print an example of what a webhook is sent, byte for byte, keys in the order sent.",
        "sample",
    ),
    Stub(
        "replay",
        "docshare.cli.commands.webhooks.replay",
        _RECEIVER,
        "Send events that were kept to a receiver again, each signed anew.",
    ),
)

app = App("Webhooks: have a server of yours, or Slack, told of events.", stubs=_STUBS)
