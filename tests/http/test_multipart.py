"""The form parser: any chunking gives the same parts, hostile bytes are not slower, and invalid forms are rejected."""

import time
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from docshare.server.http.multipart import FileTooLargeError, FormError, FormParser, parse_boundary
from docshare.server.store.blobs import FolderStore, PartialFile
from tests.http.harness import BOUNDARY, build_form, build_part

DELIMITER = b"\r\n--" + BOUNDARY.encode()

# Pieces that look like the delimiter, to exercise partial matches.
PIECES = [b"\r", b"\n", b"\r\n", b"-", b"--", b"\r\n--", b"a", b"\0"]
PIECES += [DELIMITER[:-1], DELIMITER[2:], b"\r" + DELIMITER[:-1]]
# Valid and almost valid pieces of a form.
TOKENS = [*PIECES, DELIMITER, DELIMITER + b"--", DELIMITER + b"\r\n", b"\r\n\r\n", b" ", b'; filename="f"']
TOKENS += [b'Content-Disposition: form-data; name="a"', b'Content-Disposition: form-data; name="b"; filename=x\r\n\r\n']
contents = st.lists(st.sampled_from(PIECES) | st.binary(max_size=5), max_size=12).map(b"".join)
contents = contents.filter(lambda content: DELIMITER not in b"\r\n" + content)
names = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters='"\\%'), max_size=8)


@pytest.fixture(scope="module")
def blobs(tmp_path_factory: pytest.TempPathFactory) -> FolderStore:
    root = tmp_path_factory.mktemp("forms")
    numbers = count()
    return FolderStore(root / "blobs", root / "tmp", lambda: f"part{next(numbers):016d}")


def parse_form(blobs: FolderStore, body: bytes, cuts: list[int] | None = None, max_file: int | None = None) -> Any:
    """Return the fields and files of a body that arrives in pieces, or the class and text of the error."""
    parser = FormParser(BOUNDARY.encode(), blobs.create_partial, max_file)
    edges = [0, *sorted(cut % (len(body) + 1) for cut in cuts or []), len(body)]
    try:
        for begin, end in pairwise(edges):
            parser.feed(body[begin:end])
        result = parser.finish()
        files = {name: (file.filename, file.content_type, read_part(file.part)) for name, file in result.files.items()}
        return result.fields, files
    except (FormError, FileTooLargeError) as error:
        return type(error), str(error)
    finally:
        parser.discard()
        assert list(blobs.tmp.iterdir()) == []


def read_part(part: PartialFile) -> bytes:
    found = part.path.read_bytes()
    assert len(found) == part.size
    assert part.head == found[:1024]
    return found


@given(
    fields=st.dictionaries(names, st.text(max_size=20), max_size=4),
    file=contents,
    filename=names,
    preamble=st.sampled_from([b"", b"\r\n", b"This is a form.\r\n"]),
    epilogue=st.sampled_from([b"", b"bye", b"\r\n--"]),
    cuts=st.lists(st.integers(min_value=0, max_value=2000), max_size=8),
)
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_a_form_is_parsed_the_same_in_pieces_of_any_size(
    blobs: FolderStore,
    fields: dict[str, str],
    file: bytes,
    filename: str,
    preamble: bytes,
    epilogue: bytes,
    cuts: list[int],
) -> None:
    fields.pop("the file", None)
    fields = {name: value for name, value in fields.items() if DELIMITER not in b"\r\n" + value.encode()}
    parts = [build_part(value.encode(), f'form-data; name="{name}"') for name, value in fields.items()]
    parts.append(
        build_part(file, f'form-data; name="the file"; filename="{filename}"', "Content-Type: application/pdf")
    )
    body = preamble + build_form(*parts) + epilogue
    assert parse_form(blobs, body, cuts) == (fields, {"the file": (filename, "application/pdf", file)})


@given(
    body=st.lists(st.sampled_from(TOKENS), max_size=20).map(b"".join),
    cuts=st.lists(st.integers(min_value=0, max_value=500), max_size=8),
    max_file=st.sampled_from([None, 3]),
)
@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_any_bytes_give_the_same_result_in_pieces_of_any_size(
    blobs: FolderStore, body: bytes, cuts: list[int], max_file: int | None
) -> None:
    body = b"--" + BOUNDARY.encode() + b"\r\n" + body
    assert parse_form(blobs, body, cuts, max_file) == parse_form(blobs, body, None, max_file)
    assert parse_form(blobs, body, list(range(len(body))), max_file) == parse_form(blobs, body, None, max_file)


@pytest.mark.parametrize(
    "pattern",
    [b"\r", b"\r\n", b"\r\n--", b"-", DELIMITER[:-1], b"\r" * 30 + DELIMITER[:-1], b"\r\n\r\n", bytes(1)],
    ids=["CR", "CRLF", "CRLF--", "dashes", "near boundary", "CRs and near boundary", "empty lines", "NUL"],
)
def test_hostile_bytes_are_parsed_quickly(blobs: FolderStore, pattern: bytes) -> None:
    block = (pattern * (65536 // len(pattern) + 1))[:65536]
    parser = FormParser(BOUNDARY.encode(), blobs.create_partial)
    parser.feed(build_part(b"")[:-2])
    begun = time.process_time()
    for _ in range(256):
        parser.feed(block)
    # 16 MB; a parser that examines each line separately needs a minute.
    assert time.process_time() - begun < 3
    parser.discard()


def test_single_bytes_are_parsed_in_linear_time(blobs: FolderStore) -> None:
    parser = FormParser(BOUNDARY.encode(), blobs.create_partial)
    begun = time.process_time()
    for byte in build_form(build_part(b"\r" * 20_000, 'form-data; name="a"')):
        parser.feed(bytes([byte]))
    assert time.process_time() - begun < 3
    assert parser.finish().fields == {"a": "\r" * 20_000}


@pytest.mark.parametrize(
    ("disposition", "filename"),
    [
        ('form-data; name="file"; filename="a.pdf"', "a.pdf"),
        ("form-data; name=file; filename=a.pdf", "a.pdf"),
        ("FORM-DATA;NAME=file;FileName=a.pdf ;", "a.pdf"),
        ('form-data ; name = "file" ; filename = "a b.pdf"', "a b.pdf"),
        ('form-data; filename="a.pdf"; name="file"', "a.pdf"),
        ('form-data; name="file"; filename=""', ""),
        ('form-data; name="file"; filename="a;b=c.pdf"', "a;b=c.pdf"),
        (r'form-data; name="file"; filename="a \"b\".pdf"', 'a "b".pdf'),
        (r'form-data; name="file"; filename="a\\b.pdf"', "a\\b.pdf"),
        (r'form-data; name="file"; filename="C:\docs\a.pdf"', "C:\\docs\\a.pdf"),
        ('form-data; name="file"; filename="../../etc/passwd"', "../../etc/passwd"),
        ('form-data; name="file"; filename="a%22b%22.pdf"', 'a"b".pdf'),
        ('form-data; name="file"; filename="Übersicht 日本.pdf"', "Übersicht 日本.pdf"),
        ("form-data; name=\"file\"; filename*=UTF-8''%C3%9Cbersicht.pdf", "Übersicht.pdf"),
        ('form-data; name="file"; filename="U.pdf"; filename*=utf-8\'de\'%C3%9C.pdf', "Ü.pdf"),
        ('form-data; name="file"; filename*=iso-8859-1\'\'%DC.pdf; filename="U.pdf"', "Ü.pdf"),
        ('form-data; name="file"; filename*=klingon\'\'%DC.pdf; filename="U.pdf"', "U.pdf"),
        ('form-data; name="file"; filename*=plain.pdf; filename="U.pdf"', "U.pdf"),
        ("form-data; name=\"file\"; filename*=UTF-8''%FF.pdf", "\ufffd.pdf"),
    ],
)
def test_file_names_of_real_clients_are_parsed(blobs: FolderStore, disposition: str, filename: str) -> None:
    assert parse_form(blobs, build_form(build_part(b"x", disposition))) == (
        {},
        {"file": (filename, "application/octet-stream", b"x")},
    )


def test_a_part_without_a_file_name_is_a_field(blobs: FolderStore) -> None:
    body = build_form(build_part(b"%PDF-1.7", 'form-data; name="file"', "Content-Type: application/pdf"))
    assert parse_form(blobs, body) == ({"file": "%PDF-1.7"}, {})


def test_an_empty_part_may_share_its_line_break_with_the_boundary(blobs: FolderStore) -> None:
    body = build_form(build_part(b"")[:-2], build_part(b"b", 'form-data; name="b"'))
    for cut in range(len(body)):
        assert parse_form(blobs, body, [cut]) == ({"b": "b"}, {"file": ("a.pdf", "application/octet-stream", b"")})


def test_blanks_after_a_boundary_are_ignored(blobs: FolderStore) -> None:
    body = build_form(build_part(b"x", 'form-data; name="a"')).replace(b"x7Kp\r\n", b"x7Kp \t\r\n", 1)
    assert parse_form(blobs, body, [8, 9, 10, 11, 12]) == ({"a": "x"}, {})


def test_ten_parts_are_accepted(blobs: FolderStore) -> None:
    fields, _ = parse_form(blobs, build_form(*(build_part(b"", f'form-data; name="{number}"') for number in range(10))))
    assert len(fields) == 10


def test_the_longest_field_is_accepted(blobs: FolderStore) -> None:
    fields, _ = parse_form(blobs, build_form(build_part(b"x" * 65536, 'form-data; name="a"')), [100, 40_000])
    assert fields == {"a": "x" * 65536}


PART_A = build_part(b"x", 'form-data; name="a"')
PART_KIND = build_part(b"logo", 'form-data; name="kind"')


def test_parts_with_unknown_names_are_ignored(blobs: FolderStore) -> None:
    """Parts with unknown names may repeat and contain any bytes."""
    latin = build_part(b"caf\xe9", 'form-data; name="note"')
    twice = build_part(b"again", 'form-data; name="a"; filename="a.txt"')
    assert parse_form(blobs, build_form(PART_A, latin, twice, PART_KIND, PART_A)) == ({"a": "x", "kind": "logo"}, {})


BROKEN_FORMS = {
    "empty": (b"", "The form ends before its last boundary."),
    "no boundary at all": (b"hello", "The form ends before its last boundary."),
    "cut in the headers": (build_form(PART_A)[:20], "The form ends before its last boundary."),
    "cut in a part": (build_form(PART_A)[:-12], "The form ends before its last boundary."),
    "cut before the last dashes": (build_form(PART_A)[:-4], "The form ends before its last boundary."),
    "long preamble": (b"x" * 9000 + b"\r\n" + build_form(PART_A), "The form has too many bytes outside its parts."),
    "long epilogue": (build_form(PART_A) + b"x" * 9000, "The form has too many bytes outside its parts."),
    "eleven parts": (
        build_form(*(build_part(b"", f'form-data; name="{number}"') for number in range(11))),
        "The form has more than 10 parts.",
    ),
    "two parts of one name": (build_form(PART_KIND, PART_KIND), "Two parts of the form have the same name."),
    "a field and a file of one name": (
        build_form(PART_KIND, build_part(b"", 'form-data; name="kind"; filename="b"')),
        "Two parts of the form have the same name.",
    ),
    "long field": (
        build_form(build_part(b"x" * 65537, 'form-data; name="a"')),
        "A field of the form is longer than 65536 bytes.",
    ),
    "field not UTF-8": (
        build_form(build_part(b"\xff", 'form-data; name="kind"')),
        "A field of the form is not UTF-8 text.",
    ),
    "no headers": (b"--" + BOUNDARY.encode() + b"\r\n\r\nx" + build_form(), "The headers of a part cannot be read."),
    "only another header": (b"--" + BOUNDARY.encode() + b"\r\nX: y\r\n\r\nx\r\n" + build_form(), "A part has no name."),
    "no name": (build_form(build_part(b"", 'form-data; filename="a"')), "A part has no name."),
    "other disposition": (build_form(build_part(b"", 'attachment; name="a"')), "A part has no name."),
    "parameter twice": (
        build_form(build_part(b"", 'form-data; name="a"; name="b"')),
        "A header of the form names a parameter twice.",
    ),
    "open quotation": (build_form(build_part(b"", 'form-data; name="a')), "A header of the form cannot be read."),
    "text behind a quotation": (
        build_form(build_part(b"", 'form-data; name="a"b')),
        "A header of the form cannot be read.",
    ),
    "header twice": (
        build_form(build_part(b"", 'form-data; name="a"', 'Content-Disposition: form-data; name="b"')),
        "The headers of a part cannot be read.",
    ),
    "folded header": (build_form(build_part(b"", 'form-data;\r\n name="a"')), "The headers of a part cannot be read."),
    "bare LF": (build_form(build_part(b"", 'form-data; name="a"\nX: y')), "The headers of a part cannot be read."),
    "NUL": (build_form(build_part(b"", 'form-data; name="a\0b"')), "The headers of a part cannot be read."),
    "long headers": (
        build_form(build_part(b"", f'form-data; name="{"a" * 8192}"')),
        "The headers of a part are too long.",
    ),
    "endless headers": (
        build_form(build_part(b"", 'form-data; name="a'))[:-20] + b"a" * 9000,
        "The headers of a part are too long.",
    ),
    "base64": (
        build_form(build_part(b"eA==", 'form-data; name="a"', "Content-Transfer-Encoding: base64")),
        "A part has a Content-Transfer-Encoding; send the bytes as they are.",
    ),
    "boundary with a tail": (
        build_form(build_part(b"x" + DELIMITER + b"tail", 'form-data; name="a"')),
        "A boundary line of the form is malformed.",
    ),
    "boundary with much padding": (
        build_form(PART_A).replace(b"x7Kp\r\n", b"x7Kp" + b" " * 65 + b"\r\n", 1),
        "A boundary line of the form is malformed.",
    ),
}


@pytest.mark.parametrize("name", BROKEN_FORMS)
def test_an_invalid_form_is_rejected_with_its_reason(blobs: FolderStore, name: str) -> None:
    body, reason = BROKEN_FORMS[name]
    assert parse_form(blobs, body) == (FormError, reason)
    assert parse_form(blobs, body, list(range(0, len(body), 7))) == (FormError, reason)


@pytest.mark.parametrize(
    ("content_type", "boundary"),
    [
        ("multipart/form-data; boundary=abc", b"abc"),
        ('Multipart/Form-Data; charset=utf-8; BOUNDARY="a b:c"', b"a b:c"),
        (
            "multipart/form-data;boundary=----WebKitFormBoundary7MA4YWxkTrZ",
            b"----WebKitFormBoundary7MA4YWxkTrZ",
        ),
    ],
)
def test_the_boundary_is_read_from_the_content_type(content_type: str, boundary: bytes) -> None:
    assert parse_boundary(content_type) == boundary


@pytest.mark.parametrize(
    "content_type",
    [
        "",
        "multipart/form-data",
        "multipart/mixed; boundary=abc",
        "multipart/form-data; boundary=",
        'multipart/form-data; boundary="abc "',
        "multipart/form-data; boundary=a; boundary=b",
        "multipart/form-data; boundary=\xe9",
        'multipart/form-data; boundary="abc',
    ],
)
def test_a_content_type_without_a_valid_boundary_is_rejected(content_type: str) -> None:
    with pytest.raises(FormError):
        parse_boundary(content_type)


def test_a_file_over_its_limit_is_rejected(blobs: FolderStore) -> None:
    assert parse_form(blobs, build_form(build_part(b"x" * 11)), None, 10) == (FileTooLargeError, "")
    assert parse_form(blobs, build_form(build_part(b"x" * 10)), None, 10)[1]["file"][2] == b"x" * 10


def test_parts_are_private_files(blobs: FolderStore, tmp_path: Path) -> None:
    link = blobs.tmp / "link.part"
    link.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileExistsError):
        PartialFile(link)
    link.unlink()
    fresh = blobs.create_partial()
    assert fresh.path.stat().st_mode & 0o777 == 0o600
    fresh.discard()
