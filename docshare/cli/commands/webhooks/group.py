"""``docshare webhooks``: manage webhooks and develop receivers. The module of a command is loaded only when the command
runs, because some of them import a lot."""

from docshare.cli.framework.app import App, Stub

_COMMANDS_GROUP, _RECEIVER_GROUP = "Commands", "For developing a receiver"
_UPKEEP_MODULE, _TOOLS_MODULE = "webhooks.manage", "webhooks.signatures"
_EXAMPLES_MODULE = "webhooks.examples"
_STUBS = (
    Stub("create", "webhooks.create", _COMMANDS_GROUP, "Create a webhook that sends events to a URL."),
    Stub("list", _UPKEEP_MODULE, _COMMANDS_GROUP, "List the webhooks of the account.", "list"),
    Stub("show", _UPKEEP_MODULE, _COMMANDS_GROUP, "Show a webhook, and on a terminal its last deliveries.", "show"),
    Stub("delete", _UPKEEP_MODULE, _COMMANDS_GROUP, "Delete webhooks.", "delete"),
    Stub("enable", _UPKEEP_MODULE, _COMMANDS_GROUP, "Enable webhooks that were disabled.", "enable"),
    Stub("test", "webhooks.test", _COMMANDS_GROUP, "Send a test event and print the response."),
    Stub("deliveries", "webhooks.deliveries", _COMMANDS_GROUP, "List the deliveries of a webhook, newest first."),
    Stub("redeliver", "webhooks.redeliver", _COMMANDS_GROUP, "Send deliveries again."),
    Stub("prune", "webhooks.prune", _COMMANDS_GROUP, "Delete webhooks that are no longer used."),
    Stub("listen", "webhooks.listen.command", _RECEIVER_GROUP, "Receive webhooks on this machine, without a tunnel."),
    Stub(
        "verify",
        _TOOLS_MODULE,
        _RECEIVER_GROUP,
        "Verify the signature of a delivery and explain mismatches.",
        "verify",
    ),
    Stub("sign", _TOOLS_MODULE, _RECEIVER_GROUP, "Sign a body like the server and print the header line.", "sign"),
    Stub(
        "kinds",
        _EXAMPLES_MODULE,
        _RECEIVER_GROUP,
        "List the kinds of events, with triggers and data keys.",
        "kinds",
    ),
    Stub(
        "sample",
        _EXAMPLES_MODULE,
        _RECEIVER_GROUP,
        "Print a sample event exactly as the server sends it.",
        "sample",
    ),
    Stub(
        "replay",
        "webhooks.replay",
        _RECEIVER_GROUP,
        "Send saved events to a receiver, with new signatures.",
    ),
)

app = App("Send events to your server or to Slack.", stubs=_STUBS)
