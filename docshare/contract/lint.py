"""The checks of ``docshare lint``, and how to fix each finding."""

from typing import Any, NamedTuple

LEVELS = ("note", "warning", "error")
"""The severities of findings, in ascending order."""


class LintCheck(NamedTuple):
    """``description``: what the check looks for; ``fix``: how to fix it; ``is_removed_by_clean``: whether ``--strip``
    removes it."""

    description: str
    fix: str
    is_removed_by_clean: bool


_STRIP_HINT = "Remove it with docshare lint --strip."

CHECKS: dict[str, LintCheck] = {
    "size": LintCheck("larger than the plan allows", "Reduce the size of its images, or change the plan.", False),
    "covered-text": LintCheck(
        "text under black boxes and other covers",
        "A box only hides the text. Delete the text in the original document and export it again.",
        False,
    ),
    "invisible-text": LintCheck(
        "invisible text, such as white on white", "Delete it in the original document and export it again.", False
    ),
    "cropped-text": LintCheck(
        "text outside the visible area of the page", "Delete it in the original document and export it again.", False
    ),
    "hidden-layers": LintCheck(
        "hidden layers", "Delete them in the original document; docshare lint --strip removes what it can.", True
    ),
    "attachments": LintCheck("embedded files", _STRIP_HINT, True),
    "javascript": LintCheck("scripts", _STRIP_HINT, True),
    "actions": LintCheck("programs, forms, and addresses that the PDF opens automatically", _STRIP_HINT, True),
    "form-data": LintCheck("form data", "docshare lint --strip converts it to plain page content.", True),
    "comments": LintCheck("comments and their authors", _STRIP_HINT, True),
    "author": LintCheck("names of people and companies", _STRIP_HINT, True),
    "paths": LintCheck("paths and user names of a computer", _STRIP_HINT, True),
    "private-links": LintCheck(
        "links that work only in a private network", "Correct them in the original document.", False
    ),
    "image-metadata": LintCheck("location, owner, and camera in photos", _STRIP_HINT, True),
    "revisions": LintCheck("earlier revisions of the document", _STRIP_HINT, True),
    "leftovers": LintCheck("deleted pages and images that the file still contains", _STRIP_HINT, True),
    "private-data": LintCheck("private data of the program that created the file", _STRIP_HINT, True),
    "thumbnails": LintCheck("embedded thumbnails, which may show earlier content", _STRIP_HINT, True),
    "history": LintCheck("the editing history with people and programs", _STRIP_HINT, True),
    "producer": LintCheck("names and versions of the programs that created the file", _STRIP_HINT, True),
    "signature": LintCheck("digital signatures", "A clean copy cannot keep it, because the signed bytes change.", True),
    "encryption": LintCheck(
        "permission flags, which programs can ignore",
        "Use the settings of the link instead: --password-file, --no-download.",
        True,
    ),
    "title": LintCheck("no title for the browser tab", "Set a title in the original document.", False),
    "language": LintCheck("no language for screen readers", "Set the language in the original document.", False),
    "tags": LintCheck(
        "no structure for screen readers", "Export the original document as a tagged (accessible) PDF.", False
    ),
    "unchecked": LintCheck(
        "content that was not checked within the time limit", "Split the document and check its parts.", False
    ),
}
"""All checks by name, the most severe first."""


class LintFinding(NamedTuple):
    """One finding: ``check`` a key of ``CHECKS``, ``level`` one of ``LEVELS``, ``page`` 1-based (None: the whole
    document)."""

    check: str
    level: str
    page: int | None
    message: str

    def row(self) -> dict[str, Any]:
        """Return the finding as a JSON row with its fix; without ``page`` if it has none."""
        place = {} if self.page is None else {"page": self.page}
        return {
            "level": self.level,
            "check": self.check,
            **place,
            "message": self.message,
            "fix": CHECKS[self.check].fix,
        }


def is_at_least(level: str, wanted: str) -> bool:
    """Return whether ``level`` is at least as severe as ``wanted``."""
    return LEVELS.index(level) >= LEVELS.index(wanted)
