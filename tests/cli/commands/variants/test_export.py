"""``docshare variants export``."""

from __future__ import annotations

import pytest

from tests.cli.commands.fake_variants import FILE, FakeVariants, variant_short_id, variant_url
from tests.support.fake_api import UUID, FakeApi, FakeResponse, problem
from tests.support.shell import Shell


@pytest.fixture
def variants_api(api: FakeApi) -> FakeVariants:
    """Create a file with two variants: Ann, who may not download, and Bob, whose link is revoked."""
    variants_api = FakeVariants(api)
    variants_api.add_variant("Ann", overrides={"allowDownload": False, "pageRange": {"from": 3, "to": 9}})
    variants_api.add_variant("Bob", revoked=True)
    return variants_api


def make_variant_uuid(number: int) -> str:
    return UUID.format(100 + number)


def test_export_writes_the_readership_and_a_file_that_create_can_read(variants_api: FakeVariants, shell: Shell) -> None:
    read = [{"uuid": make_variant_uuid(1), "label": "Ann", "sessions": 4, "avgTimeMs": 61_000, "revoked": False}]
    variants_api.api.on("GET", f"/files/{FILE}/readership", {"tier": "pro", "variants": read})
    out = shell.home / "links.csv"
    assert shell("variants", "export", FILE, "--out", out, "--json").json == {"path": str(out), "variants": 2}
    assert out.read_text().splitlines() == [
        "label,url,uuid,shortId,allowDownload,pages,revoked,redacted,createdAt,sessions,avgTimeMs",
        f"Bob,{variant_url(2)},{make_variant_uuid(2)},{variant_short_id(2)},,,true,false,2026-09-21T14:13:22.000Z,,",
        f"Ann,{variant_url(1)},{make_variant_uuid(1)},{variant_short_id(1)},false,3-9,false,false,2026-09-21T14:13:21.000Z,4,61000",
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


def test_export_overwrites_a_file_only_with_force(variants_api: FakeVariants, shell: Shell) -> None:
    out = shell.home / "links.csv"
    out.write_text("mine")
    assert shell("variants", "export", FILE, "--out", out).code == 2
    assert (out.read_text(), variants_api.api.requests) == ("mine", [])
    assert shell("variants", "export", FILE, "--out", out, "--force").code == 0
    assert out.read_text() != "mine"
