"""``docshare variants export``: a file that ``variants create`` reads, with the readership."""

from __future__ import annotations

import csv
import io

import pytest

from tests.cli.commands.fake_variants import FILE, FakeVariants, variant_short_id, variant_url
from tests.support.fake_api import UUID, FakeApi, FakeResponse, problem
from tests.support.shell import Shell


@pytest.fixture
def book(api: FakeApi) -> FakeVariants:
    """A file with Ann, who may not download, and Bob, whose link is revoked."""
    book = FakeVariants(api)
    book.add_variant("Ann", overrides={"allowDownload": False, "pageRange": {"from": 3, "to": 9}})
    book.add_variant("Bob", revoked=True)
    return book


def test_export_writes_what_create_reads_with_the_readership(book: FakeVariants, shell: Shell) -> None:
    read = [{"uuid": UUID.format(101), "label": "Ann", "sessions": 4, "avgTimeMs": 61_000, "revoked": False}]
    book.api.on("GET", f"/files/{FILE}/readership", {"tier": "pro", "variants": read})
    out = shell.home / "links.csv"
    assert shell("variants", "export", FILE, "--out", out, "--json").json == {"path": str(out), "variants": 2}
    assert out.read_text().splitlines() == [
        "label,url,uuid,shortId,allowDownload,pages,revoked,redacted,createdAt,sessions,avgTimeMs",
        f"Bob,{variant_url(2)},{UUID.format(102)},{variant_short_id(2)},,,true,false,2026-09-21T14:13:22.000Z,,",
        f"Ann,{variant_url(1)},{UUID.format(101)},{variant_short_id(1)},false,3-9,false,false,2026-09-21T14:13:21.000Z,4,61000",
    ]
    book.rows.clear()
    assert shell("variants", "create", FILE, "--from-csv", out).code == 0
    assert book.list_creates()[1] == {
        "label": "Ann", "overrides": {"allowDownload": False, "pageRange": {"from": 3, "to": 9}},
    }  # fmt: skip


@pytest.mark.parametrize("answer", [problem(404, "not_found"), problem(403, "insufficient_scope")])
def test_without_a_readership_the_columns_are_left_out(book: FakeVariants, shell: Shell, answer: object) -> None:
    book.api.on("GET", f"/files/{FILE}/readership", answer)
    done = shell("variants", "export", FILE, "--out", "-")
    assert done.lines[0].endswith("createdAt")
    assert "without the readership" in done.err
    assert ("this server does not report it" in done.err) == (isinstance(answer, FakeResponse) and answer.status == 404)


def test_a_label_that_a_spreadsheet_would_run_is_made_harmless(book: FakeVariants, shell: Shell) -> None:
    book.rows[0]["label"] = "=HYPERLINK(1)"
    assert shell("variants", "export", FILE, "--out", "-").lines[1].startswith("'=HYPERLINK(1),")
    assert shell("variants", "export", FILE, "--out", "-", "--raw-csv").lines[1].startswith("=HYPERLINK(1),")


LABELS = ["می\u200cخواهم", "\u202eAnn", "family 👩\u200d👩\u200d👧", "soft\u00adhyphen", 'Ann, "Bob"']


@pytest.mark.parametrize("label", LABELS, ids=ascii)
def test_a_label_survives_the_way_into_a_file_and_back(book: FakeVariants, shell: Shell, label: str) -> None:
    book.rows[0]["label"] = label
    out, made = shell.home / "links.csv", shell.home / "made.csv"
    assert shell("variants", "export", FILE, "--out", out).code == 0
    assert shell("variants", "export", FILE, "--out", "-").out == out.read_text()
    book.rows.clear()
    assert shell("variants", "create", FILE, "--from-csv", out, "--out", made).code == 0
    assert label in [post["label"] for post in book.list_creates()]
    assert label in [row["label"] for row in csv.DictReader(io.StringIO(made.read_text(), newline=""))]


def test_a_label_of_an_export_does_not_steer_a_terminal(book: FakeVariants, shell: Shell) -> None:
    book.rows[0]["label"] = "\u202eAnn\x1b[31m"
    shell.tty = True
    assert shell("variants", "export", FILE, "--out", "-").lines[1].startswith("\\u202eAnn\\x1b[31m,")


def test_export_overwrites_only_by_force(book: FakeVariants, shell: Shell) -> None:
    out = shell.home / "links.csv"
    out.write_text("mine")
    assert shell("variants", "export", FILE, "--out", out).code == 2
    assert (out.read_text(), book.api.requests) == ("mine", [])
    assert shell("variants", "export", FILE, "--out", out, "--force").code == 0
    assert out.read_text() != "mine"
