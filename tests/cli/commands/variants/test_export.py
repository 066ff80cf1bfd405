"""``docshare variants export``: a CSV file that ``variants create`` can read, with the readership."""

from __future__ import annotations

import csv
import io

import pytest

from tests.cli.commands.fakes.variants import FILE, FakeVariants, variant_short_id, variant_url
from tests.support.outside.fake_api import UUID, FakeApi, FakeResponse, problem
from tests.support.shell import Shell


@pytest.fixture
def variants_api(api: FakeApi) -> FakeVariants:
    """Create a file with two variants: Ann, who may not download, and Bob, whose link is revoked."""
    variants_api = FakeVariants(api)
    variants_api.add_variant("Ann", overrides={"allowDownload": False, "pageRange": {"from": 3, "to": 9}})
    variants_api.add_variant("Bob", revoked=True)
    return variants_api


def test_export_writes_the_readership_and_a_file_that_create_can_read(variants_api: FakeVariants, shell: Shell) -> None:
    read = [{"uuid": UUID.format(101), "label": "Ann", "sessions": 4, "avgTimeMs": 61_000, "revoked": False}]
    variants_api.api.on("GET", f"/files/{FILE}/readership", {"tier": "pro", "variants": read})
    out = shell.home / "links.csv"
    assert shell("variants", "export", FILE, "--out", out, "--json").json == {"path": str(out), "variants": 2}
    assert out.read_text().splitlines() == [
        "label,url,uuid,shortId,allowDownload,pages,revoked,redacted,createdAt,sessions,avgTimeMs",
        f"Bob,{variant_url(2)},{UUID.format(102)},{variant_short_id(2)},,,true,false,2026-09-21T14:13:22.000Z,,",
        f"Ann,{variant_url(1)},{UUID.format(101)},{variant_short_id(1)},false,3-9,false,false,2026-09-21T14:13:21.000Z,4,61000",
    ]
    variants_api.rows.clear()
    assert shell("variants", "create", FILE, "--from-csv", out).code == 0
    assert variants_api.list_creates()[1] == {
        "label": "Ann", "overrides": {"allowDownload": False, "pageRange": {"from": 3, "to": 9}},
    }  # fmt: skip


@pytest.mark.parametrize("answer", [problem(404, "not_found"), problem(403, "insufficient_scope")])
def test_the_readership_columns_are_omitted_if_it_is_not_available(
    variants_api: FakeVariants, shell: Shell, answer: object
) -> None:
    variants_api.api.on("GET", f"/files/{FILE}/readership", answer)
    done = shell("variants", "export", FILE, "--out", "-")
    assert done.lines[0].endswith("createdAt")
    assert "without the readership" in done.err
    assert ("this server does not report it" in done.err) == (isinstance(answer, FakeResponse) and answer.status == 404)


def test_a_label_that_looks_like_a_formula_is_escaped(variants_api: FakeVariants, shell: Shell) -> None:
    variants_api.rows[0]["label"] = "=HYPERLINK(1)"
    assert shell("variants", "export", FILE, "--out", "-").lines[1].startswith("'=HYPERLINK(1),")
    assert shell("variants", "export", FILE, "--out", "-", "--raw-csv").lines[1].startswith("=HYPERLINK(1),")


LABELS = ["می\u200cخواهم", "\u202eAnn", "family 👩\u200d👩\u200d👧", "soft\u00adhyphen", 'Ann, "Bob"']


@pytest.mark.parametrize("label", LABELS, ids=ascii)
def test_a_label_survives_a_round_trip_through_a_file(variants_api: FakeVariants, shell: Shell, label: str) -> None:
    variants_api.rows[0]["label"] = label
    out, made = shell.home / "links.csv", shell.home / "made.csv"
    assert shell("variants", "export", FILE, "--out", out).code == 0
    assert shell("variants", "export", FILE, "--out", "-").out == out.read_text()
    variants_api.rows.clear()
    assert shell("variants", "create", FILE, "--from-csv", out, "--out", made).code == 0
    assert label in [post["label"] for post in variants_api.list_creates()]
    assert label in [row["label"] for row in csv.DictReader(io.StringIO(made.read_text(), newline=""))]


def test_an_exported_label_cannot_control_a_terminal(variants_api: FakeVariants, shell: Shell) -> None:
    variants_api.rows[0]["label"] = "\u202eAnn\x1b[31m"
    shell.tty = True
    assert shell("variants", "export", FILE, "--out", "-").lines[1].startswith("\\u202eAnn\\x1b[31m,")


def test_export_overwrites_a_file_only_with_force(variants_api: FakeVariants, shell: Shell) -> None:
    out = shell.home / "links.csv"
    out.write_text("mine")
    assert shell("variants", "export", FILE, "--out", out).code == 2
    assert (out.read_text(), variants_api.api.requests) == ("mine", [])
    assert shell("variants", "export", FILE, "--out", out, "--force").code == 0
    assert out.read_text() != "mine"
