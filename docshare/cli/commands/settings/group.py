"""``docshare settings``: read and write the settings of files. Who reads them does not load what writes them."""

from docshare.cli.framework.app import App, Stub

_COMMANDS = "Commands"
_READING, _WRITING = "docshare.cli.commands.settings.get", "docshare.cli.commands.settings.clear_apply_copy"
_STUBS = (
    Stub("get", _READING, _COMMANDS, "Show the settings of a file.", "get"),
    Stub("set", "docshare.cli.commands.settings.set", _COMMANDS, "Change settings of files."),
    Stub("clear", _WRITING, _COMMANDS, "Take settings away.", "clear"),
    Stub(
        "schema",
        "docshare.cli.commands.settings.schema",
        _COMMANDS,
        "List every setting: its key, type, allowed values, default and plan.",
    ),
    Stub(
        "export",
        _READING,
        _COMMANDS,
        "Print the settings of a file as JSON that docshare settings apply takes.",
        "export",
    ),
    Stub("apply", _WRITING, _COMMANDS, "Give files the settings in a file.", "apply"),
    Stub("copy", _WRITING, _COMMANDS, "Give files the settings of another file.", "copy"),
)

app = App("Settings of a file: password, expiry, link name, viewer.", stubs=_STUBS)
