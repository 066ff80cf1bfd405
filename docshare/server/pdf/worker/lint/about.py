"""What a document says of itself: names, programs, folders, title, language. Runs inside the worker only."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pikepdf
from pikepdf import Dictionary, Stream, String

from docshare.server.pdf.worker.lint.findings import FindingCollector, join_quoted, quote

# What stands where nobody gave a name; ReportLab writes these.
_PLACEHOLDER_NAMES = frozenset(
    {"", "anonymous", "(anonymous)", "unspecified", "(unspecified)", "untitled", "(untitled)"}
)
_PEOPLE_KEYS = ("/Author", "/Company", "/Manager", "/Owner", "/LastModifiedBy", "/Reviewer")
_PEOPLE_XMP_KEYS = ("dc:creator", "dc:contributor", "pdfx:Company", "pdfx:Manager", "xmpRights:Owner")
_PROGRAM_KEYS = ("/Creator", "/Producer", "/PTEX.Fullbanner")
_PROGRAM_XMP_KEYS = ("xmp:CreatorTool", "pdf:Producer")
_STANDARD_KEYS = frozenset({
    *_PEOPLE_KEYS, *_PROGRAM_KEYS, "/Title", "/Subject", "/Keywords", "/CreationDate", "/ModDate", "/Trapped",
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
_MAX_TEXT_CHARS = 64 * 1024  # characters of one text that are searched
_HISTORY_KEY = b"xmpMM:History"


def find_paths(text: str) -> list[str]:
    """The folders and files of a computer that ``text`` names."""
    return _PATH.findall(text[:_MAX_TEXT_CHARS]) if "\\" in text or "/" in text else []


def read_title(pdf: pikepdf.Pdf) -> str:
    """The title, empty if it has none."""
    return _read_text(_document_info(pdf).get("/Title")) or _read_xmp_text(_read_xmp(pdf)[0], "dc:title")


def check_metadata(pdf: pikepdf.Pdf, findings: FindingCollector) -> None:
    """Everything that stands in one place for the whole document."""
    info = _document_info(pdf)
    xmp, raw = _read_xmp(pdf)
    people = Counter(_list_names(info, xmp, _PEOPLE_KEYS, _PEOPLE_XMP_KEYS))
    if people:
        findings.add("author", "note", f"The metadata names {join_quoted(people)}.")
    programs = Counter(_list_names(info, xmp, _PROGRAM_KEYS, _PROGRAM_XMP_KEYS))
    if programs:
        findings.add("producer", "note", f"Made with {join_quoted(programs)}.")
    if _HISTORY_KEY in raw:
        findings.add("history", "note", "The metadata keeps a history of when it was edited with which program.")
    odd = Counter(key[1:] for key in info.keys() if key not in _STANDARD_KEYS)  # noqa: SIM118 - no mapping
    if odd:
        findings.add("private-data", "note", f"The metadata has fields of its own: {join_quoted(odd)}.")
    _check_accessibility(pdf, read_title(pdf), findings)
    if pdf.is_encrypted:
        findings.add("encryption", "note", "It is encrypted, but opens without a password.")


def _check_accessibility(pdf: pikepdf.Pdf, title: str, findings: FindingCollector) -> None:
    if title.lower() in _PLACEHOLDER_NAMES:
        findings.add("title", "note", "It has no title; the tab of the browser shows the name of the file.")
    elif _FILE_NAME.fullmatch(title):
        findings.add("title", "note", f"Its title is the name of a file: {quote(title)}.")
    if not _read_text(pdf.Root.get("/Lang")):
        findings.add("language", "note", "It does not say its language, so screen readers guess how to pronounce it.")
    marked: Any = pdf.Root.get("/MarkInfo")
    if not (isinstance(marked, Dictionary) and marked.get("/Marked") and "/StructTreeRoot" in pdf.Root):
        findings.add("tags", "note", "It is not tagged: screen readers guess what is a heading, a list or a table.")


def _list_names(info: Any, xmp: Any, keys: tuple[str, ...], xmp_keys: tuple[str, ...]) -> Iterator[str]:
    values = [_read_text(info.get(key)) for key in keys] + [_read_xmp_text(xmp, key) for key in xmp_keys]
    yield from (value for value in values if value.lower() not in _PLACEHOLDER_NAMES)


def _document_info(pdf: pikepdf.Pdf) -> Any:
    return pdf.docinfo if isinstance(pdf.trailer.get("/Info"), Dictionary) else Dictionary()


def _read_text(value: Any) -> str:
    return str(value).strip() if isinstance(value, String) else ""


def _read_xmp_text(xmp: Any, key: str) -> str:
    """The text under ``key``; of a list all of it."""
    try:
        value = xmp.get(key) if xmp is not None else None
    except (KeyError, TypeError, ValueError):
        return ""
    if isinstance(value, list | set | tuple):
        return ", ".join(str(each).strip() for each in value if each)
    return str(value).strip() if value else ""


def _read_xmp(pdf: pikepdf.Pdf) -> tuple[Any, bytes]:
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
