"""``docshare readership``: who read a file, and how. Each command is loaded when it is used."""

from docshare.cli.framework.app import App, Stub

_READING_GROUP, _FEEDBACK_GROUP, _EXPORT_GROUP = "How it was read", "What readers left", "The whole of it"
_ROWS_MODULE, _FEEDBACK_MODULE = (
    "readership.pages_and_sessions",
    "readership.feedback",
)
_STUBS = (
    Stub("show", "readership.show", _READING_GROUP, "Show the readership report of a file."),
    Stub("pages", _ROWS_MODULE, _READING_GROUP, "Show how each page was read.", "pages"),
    Stub("sessions", _ROWS_MODULE, _READING_GROUP, "List every session in which a file was read.", "sessions"),
    Stub(
        "marks",
        _FEEDBACK_MODULE,
        _FEEDBACK_GROUP,
        "Show which pages readers picked, rejected or were not sure about.",
        "marks",
    ),
    Stub("annotations", _FEEDBACK_MODULE, _FEEDBACK_GROUP, "Show what readers wrote on the pages.", "annotations"),
    Stub(
        "notes", _FEEDBACK_MODULE, _FEEDBACK_GROUP, "Show the notes of readers, and who confirmed the receipt.", "notes"
    ),
    Stub("export", "readership.export", _EXPORT_GROUP, "Write the readership of a file into a folder."),
    Stub("report", "readership.report_file", _EXPORT_GROUP, "Write the readership report of a file as one HTML file."),
)

app = App("See who read a file, and how.", stubs=_STUBS)
