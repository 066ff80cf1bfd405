"""``docshare webhooks``: who is told of events. Each command stands in a module of its own or with its next of kin and
is loaded when it is used: some bring much with them, and who lists webhooks does not wait for that."""

from docshare.cli.framework.app import App, Stub

_COMMANDS_GROUP, _RECEIVER_GROUP = "Commands", "For whoever writes a receiver"
_UPKEEP_MODULE, _TOOLS_MODULE = "webhooks.manage", "webhooks.signatures"
_EXAMPLES_MODULE = "webhooks.examples"
_STUBS = (
    Stub("create", "webhooks.create", _COMMANDS_GROUP, "Have an address told of events."),
    Stub("list", _UPKEEP_MODULE, _COMMANDS_GROUP, "List the webhooks of the account.", "list"),
    Stub("show", _UPKEEP_MODULE, _COMMANDS_GROUP, "Show one webhook, and on a terminal its last deliveries.", "show"),
    Stub("delete", _UPKEEP_MODULE, _COMMANDS_GROUP, "Delete webhooks.", "delete"),
    Stub("enable", _UPKEEP_MODULE, _COMMANDS_GROUP, "Switch webhooks on again that were disabled.", "enable"),
    Stub("test", "webhooks.test", _COMMANDS_GROUP, "Send a test event now, and say what the receiver answered."),
    Stub("deliveries", "webhooks.deliveries", _COMMANDS_GROUP, "List what was sent to a webhook, newest first."),
    Stub("redeliver", "webhooks.redeliver", _COMMANDS_GROUP, "Send deliveries again."),
    Stub("prune", "webhooks.prune", _COMMANDS_GROUP, "Delete webhooks that are left over."),
    Stub("listen", "webhooks.listen.command", _RECEIVER_GROUP, "Receive webhooks on this machine, without a tunnel."),
    Stub(
        "verify",
        _TOOLS_MODULE,
        _RECEIVER_GROUP,
        "Verify the signature of a delivery, and say why it does not fit.",
        "verify",
    ),
    Stub("sign", _TOOLS_MODULE, _RECEIVER_GROUP, "Sign a body as the server does, and print the header line.", "sign"),
    Stub(
        "kinds",
        _EXAMPLES_MODULE,
        _RECEIVER_GROUP,
        "List the kinds of events: when each fires, and what stands in its data.",
        "kinds",
    ),
    Stub(
        "sample",
        _EXAMPLES_MODULE,
        _RECEIVER_GROUP,
        "Print an example of what a webhook is sent, byte for byte, keys in the order sent.",
        "sample",
    ),
    Stub(
        "replay",
        "webhooks.replay",
        _RECEIVER_GROUP,
        "Send events that were kept to a receiver again, each signed anew.",
    ),
)

app = App("Webhooks: have a server of yours, or Slack, told of events.", stubs=_STUBS)
