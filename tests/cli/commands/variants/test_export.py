"""``docshare variants export``."""

from __future__ import annotations

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


def variant_uuid(number: int) -> str:
    return UUID.format(100 + number)


def test_export_writes_what_create_reads_with_the_readership(book: FakeVariants, shell: Shell) -> None:
    read = [{"uuid": variant_uuid(1), "label": "Ann", "sessions": 4, "avgTimeMs": 61_000, "revoked": False}]
    book.api.on("GET", f"/files/{FILE}/readership", {"tier": "pro", "variants": read})
    out = shell.home / "links.csv"
    assert shell("variants", "export", FILE, "--out", out, "--json").json == {"path": str(out), "variants": 2}
    assert out.read_text().splitlines() == [
        "label,url,uuid,shortId,allowDownload,pages,revoked,redacted,createdAt,sessions,avgTimeMs",
        f"Bob,{variant_url(2)},{variant_uuid(2)},{variant_short_id(2)},,,true,false,2026-09-21T14:13:22.000Z,,",
        f"Ann,{variant_url(1)},{variant_uuid(1)},{variant_short_id(1)},false,3-9,false,false,2026-09-21T14:13:21.000Z,4,61000",
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


def test_export_overwrites_only_by_force(book: FakeVariants, shell: Shell) -> None:
    out = shell.home / "links.csv"
    out.write_text("mine")
    assert shell("variants", "export", FILE, "--out", out).code == 2
    assert (out.read_text(), book.api.requests) == ("mine", [])
    assert shell("variants", "export", FILE, "--out", out, "--force").code == 0
    assert out.read_text() != "mine"
