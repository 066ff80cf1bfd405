"""``docshare readership``: see who read a file, and how. Each command is loaded when it runs."""

from docshare.cli.framework.app import App, Stub

_READING_GROUP, _FEEDBACK_GROUP, _EXPORT_GROUP = "Reading", "Feedback", "Export"
_ROWS_MODULE, _FEEDBACK_MODULE = (
    "readership.pages_and_sessions",
    "readership.feedback",
)
_STUBS = (
    Stub("show", "readership.show", _READING_GROUP, "Show the readership report of a file."),
    Stub("pages", _ROWS_MODULE, _READING_GROUP, "Show how each page was read.", "pages"),
    Stub("sessions", _ROWS_MODULE, _READING_GROUP, "List the sessions of the readers of a file.", "sessions"),
    Stub(
        "marks",
        _FEEDBACK_MODULE,
        _FEEDBACK_GROUP,
        "Show which pages readers marked as pick, maybe, or reject.",
        "marks",
    ),
    Stub(
        "annotations", _FEEDBACK_MODULE, _FEEDBACK_GROUP, "Show the annotations of readers on the pages.", "annotations"
    ),
    Stub("notes", _FEEDBACK_MODULE, _FEEDBACK_GROUP, "Show the notes and receipts of readers.", "notes"),
    Stub("export", "readership.export", _EXPORT_GROUP, "Write the readership data of a file to a directory."),
    Stub("report", "readership.report_file", _EXPORT_GROUP, "Write the readership report of a file as an HTML file."),
)

app = App("See who read a file, and how.", stubs=_STUBS)
