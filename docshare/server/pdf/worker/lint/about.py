"""What a document says of itself: names, programs, folders, title, language. Runs inside the worker only."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pikepdf
from pikepdf import Dictionary, Stream, String

from docshare.server.pdf.worker.lint.findings import Findings, listed, quoted

# What stands where nobody gave a name; ReportLab writes these.
_NOBODY = frozenset({"", "anonymous", "(anonymous)", "unspecified", "(unspecified)", "untitled", "(untitled)"})
_PEOPLE = ("/Author", "/Company", "/Manager", "/Owner", "/LastModifiedBy", "/Reviewer")
_PEOPLE_XMP = ("dc:creator", "dc:contributor", "pdfx:Company", "pdfx:Manager", "xmpRights:Owner")
_PROGRAMS = ("/Creator", "/Producer", "/PTEX.Fullbanner")
_PROGRAMS_XMP = ("xmp:CreatorTool", "pdf:Producer")
_USUAL = frozenset({
    *_PEOPLE, *_PROGRAMS, "/Title", "/Subject", "/Keywords", "/CreationDate", "/ModDate", "/Trapped",
})  # fmt: skip
_FILE_NAME = re.compile(
    r"Microsoft (?:Word|PowerPoint|Excel) - .*|.+\.(?:docx?|pptx?|xlsx?|odt|odp|pdf|indd|ai|tex|dvi|md|html?)", re.I
)
# Folders of Windows with at least one folder or a user's own, network folders, home folders, addresses of files. A
# slash behind a word belongs to an address on the web.
_PATH = re.compile(
    r"""(?<![A-Za-z])[A-Za-z]:\\(?:[^\\/:*?"<>|\r\n]{1,64}\\)+[^\\/:*?"<>|\r\n]{0,64}"""
    r"""|(?<![\\\w])\\\\[\w.-]{1,64}\\[^\\/:*?"<>|\r\n]{1,64}(?:\\[^\\/:*?"<>|\r\n]{1,64})*"""
    r"""|(?<![\w./:-])/(?:home|Users|Volumes|mnt|tmp|var/folders)/[^\s/"'<>]{1,64}(?:/[^\s"'<>]{0,128})?"""
    r"""|\bfile:/{1,3}[^\s"'<>]{1,200}""",
    re.IGNORECASE,
)
_LONGEST = 64 * 1024  # characters of one text that are searched
_HISTORY = b"xmpMM:History"


def paths_in(text: str) -> list[str]:
    """The folders and files of a computer that ``text`` names."""
    return _PATH.findall(text[:_LONGEST]) if "\\" in text or "/" in text else []


def title_of(pdf: pikepdf.Pdf) -> str:
    """The title, empty if it has none."""
    return _said(_info(pdf).get("/Title")) or _first(_xmp(pdf)[0], "dc:title")


def look(pdf: pikepdf.Pdf, findings: Findings) -> None:
    """Everything that stands in one place for the whole document."""
    info = _info(pdf)
    xmp, raw = _xmp(pdf)
    people = Counter(_names(info, xmp, _PEOPLE, _PEOPLE_XMP))
    if people:
        findings.add("author", "note", f"The metadata names {listed(people)}.")
    programs = Counter(_names(info, xmp, _PROGRAMS, _PROGRAMS_XMP))
    if programs:
        findings.add("producer", "note", f"Made with {listed(programs)}.")
    if _HISTORY in raw:
        findings.add("history", "note", "The metadata keeps a history of when it was edited with which program.")
    odd = Counter(key[1:] for key in info.keys() if key not in _USUAL)  # noqa: SIM118 - no mapping
    if odd:
        findings.add("private-data", "note", f"The metadata has fields of its own: {listed(odd)}.")
    _for_readers(pdf, title_of(pdf), findings)
    if pdf.is_encrypted:
        findings.add("encryption", "note", "It is encrypted, but opens without a password.")


def _for_readers(pdf: pikepdf.Pdf, title: str, findings: Findings) -> None:
    if title.lower() in _NOBODY:
        findings.add("title", "note", "It has no title; the tab of the browser shows the name of the file.")
    elif _FILE_NAME.fullmatch(title):
        findings.add("title", "note", f"Its title is the name of a file: {quoted(title)}.")
    if not _said(pdf.Root.get("/Lang")):
        findings.add("language", "note", "It does not say its language, so screen readers guess how to pronounce it.")
    marked: Any = pdf.Root.get("/MarkInfo")
    if not (isinstance(marked, Dictionary) and marked.get("/Marked") and "/StructTreeRoot" in pdf.Root):
        findings.add("tags", "note", "It is not tagged: screen readers guess what is a heading, a list or a table.")


def _names(info: Any, xmp: Any, keys: tuple[str, ...], xmp_keys: tuple[str, ...]) -> Iterator[str]:
    values = [_said(info.get(key)) for key in keys] + [_first(xmp, key) for key in xmp_keys]
    yield from (value for value in values if value.lower() not in _NOBODY)


def _info(pdf: pikepdf.Pdf) -> Any:
    return pdf.docinfo if isinstance(pdf.trailer.get("/Info"), Dictionary) else Dictionary()


def _said(value: Any) -> str:
    return str(value).strip() if isinstance(value, String) else ""


def _first(xmp: Any, key: str) -> str:
    """The text under ``key``; of a list all of it."""
    try:
        value = xmp.get(key) if xmp is not None else None
    except (KeyError, TypeError, ValueError):
        return ""
    if isinstance(value, list | set | tuple):
        return ", ".join(str(each).strip() for each in value if each)
    return str(value).strip() if value else ""


def _xmp(pdf: pikepdf.Pdf) -> tuple[Any, bytes]:
    """The XMP metadata of the document, None if there is none or it is broken; and its bytes."""
    stream = pdf.Root.get("/Metadata")
    if not isinstance(stream, Stream):
        return None, b""
    try:
        raw = stream.read_bytes()
        xmp = pdf.open_metadata(set_pikepdf_as_editor=False, update_docinfo=False, strict=True)
        xmp.get("dc:title")  # it is read at first use
    except (pikepdf.PdfError, ValueError, TypeError, SyntaxError):
        return None, b""
    return xmp, raw
