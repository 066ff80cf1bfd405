"""``docshare settings``: read and write the settings of files. Reading does not import the modules that write."""

from docshare.cli.framework.app import App, Stub

_COMMANDS = "Commands"
_READ_MODULE, _WRITE_MODULE = "settings.get", "settings.clear_apply_copy"
_STUBS = (
    Stub("get", _READ_MODULE, _COMMANDS, "Show the settings of a file.", "get"),
    Stub("set", "settings.set", _COMMANDS, "Change settings of files."),
    Stub("clear", _WRITE_MODULE, _COMMANDS, "Clear settings of files.", "clear"),
    Stub("schema", "settings.schema", _COMMANDS, "List all settings with type, values, default, and plan."),
    Stub(
        "export",
        _READ_MODULE,
        _COMMANDS,
        "Print the settings of a file as JSON for settings apply.",
        "export",
    ),
    Stub("apply", _WRITE_MODULE, _COMMANDS, "Apply a settings file to files.", "apply"),
    Stub("copy", _WRITE_MODULE, _COMMANDS, "Copy the settings of one file to others.", "copy"),
)

app = App("Show and change the settings of a file.", stubs=_STUBS)
