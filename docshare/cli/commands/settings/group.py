"""``docshare settings``: read and write the settings of files. Who reads them does not load what writes them."""

from docshare.cli.framework.app import App, Stub

_COMMANDS = "Commands"
_READ_MODULE, _WRITE_MODULE = "settings.get", "settings.clear_apply_copy"
_STUBS = (
    Stub("get", _READ_MODULE, _COMMANDS, "Show the settings of a file.", "get"),
    Stub("set", "settings.set", _COMMANDS, "Change settings of files."),
    Stub("clear", _WRITE_MODULE, _COMMANDS, "Take settings away.", "clear"),
    Stub(
        "schema", "settings.schema", _COMMANDS, "List every setting: its key, type, allowed values, default and plan."
    ),
    Stub(
        "export",
        _READ_MODULE,
        _COMMANDS,
        "Print the settings of a file as JSON that docshare settings apply takes.",
        "export",
    ),
    Stub("apply", _WRITE_MODULE, _COMMANDS, "Give files the settings in a file.", "apply"),
    Stub("copy", _WRITE_MODULE, _COMMANDS, "Give files the settings of another file.", "copy"),
)

app = App("Settings of a file: password, expiry, link name, viewer.", stubs=_STUBS)
