"""What ``docshare lint`` looks for in a PDF before it is shared, and what can be done about each of it."""

from typing import Any, NamedTuple

LEVELS = ("note", "warning", "error")
"""How bad a finding is, in rising order."""


class Check(NamedTuple):
    """``about``: what is looked for; ``fix``: what to do about it; ``cleaned``: whether a clean copy is without it."""

    about: str
    fix: str
    cleaned: bool


_STRIP = "docshare lint --strip leaves it out."

CHECKS: dict[str, Check] = {
    "size": Check("larger than the plan stores", "Make its pictures smaller, or change the plan.", False),
    "covered-text": Check(
        "text under black boxes and other covers",
        "Delete the text in the program the document was made with, and export it anew; a box only hides it.",
        False,
    ),
    "invisible-text": Check(
        "text nobody can see, such as white on white", "Delete it in the original and export that anew.", False
    ),
    "cropped-text": Check(
        "text outside the visible part of the page", "Delete it in the original and export that anew.", False
    ),
    "hidden-layers": Check(
        "layers that are not shown", "Delete them in the original; docshare lint --strip leaves out what it can.", True
    ),
    "attachments": Check("files inside the PDF", _STRIP, True),
    "javascript": Check("scripts", _STRIP, True),
    "actions": Check("programs, forms and addresses that the PDF calls by itself", _STRIP, True),
    "form-data": Check("what was filled into a form", "docshare lint --strip turns it into plain page content.", True),
    "comments": Check("notes and marks with who wrote them", _STRIP, True),
    "author": Check("names of people and firms", _STRIP, True),
    "paths": Check("folders and user names of a computer", _STRIP, True),
    "private-links": Check("links that work only inside a network", "Correct the links in the original.", False),
    "image-metadata": Check("place, owner and camera in photos", _STRIP, True),
    "revisions": Check("earlier states of the document", _STRIP, True),
    "leftovers": Check("removed pages and pictures that are still there", _STRIP, True),
    "private-data": Check("what a program kept for itself", _STRIP, True),
    "thumbnails": Check("small pictures of the pages as they once were", _STRIP, True),
    "history": Check("who edited it with what, step by step", _STRIP, True),
    "producer": Check("programs and their versions", _STRIP, True),
    "signature": Check(
        "digital signatures", "A clean copy cannot keep it: it would no longer be what was signed.", True
    ),
    "encryption": Check(
        "what readers may do by a flag that programs are free to ignore",
        "Rely on the settings of the link instead: --password-file, --no-download.",
        True,
    ),
    "title": Check("no title for the tab of the browser", "Give it a title in the program it was made with.", False),
    "language": Check(
        "no language for screen readers", "Set the document's language in the program it was made with.", False
    ),
    "tags": Check(
        "no structure for screen readers", "Export it as a tagged (accessible) PDF from the original.", False
    ),
    "unchecked": Check("what there was no time to look at", "Split the document and lint its parts.", False),
}
"""Every check by its name, the gravest first."""


class Finding(NamedTuple):
    """One finding: ``check`` a key of ``CHECKS``, ``level`` one of ``LEVELS``, ``page`` 1-based, None for the document
    as a whole."""

    check: str
    level: str
    page: int | None
    message: str

    def row(self) -> dict[str, Any]:
        """The finding as scripts get it, with what to do about it; without ``page`` if it has none."""
        place = {} if self.page is None else {"page": self.page}
        return {
            "level": self.level,
            "check": self.check,
            **place,
            "message": self.message,
            "fix": CHECKS[self.check].fix,
        }


def at_least(level: str, wanted: str) -> bool:
    """Whether ``level`` is as bad as ``wanted`` or worse."""
    return LEVELS.index(level) >= LEVELS.index(wanted)
