"""``docshare variants create``: one link, numbered links, QR images, rate limits, and all output formats."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands.fakes.variants import FILE, FakeVariants, variant_short_id, variant_url
from tests.support.outside.fake_api import UUID, FakeApi, FakeResponse, FakeTime, problem
from tests.support.shell import Shell


@pytest.fixture
def fake_variants(api: FakeApi) -> FakeVariants:
    return FakeVariants(api)


# --- one link ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "body"),
    [
        ([], {}),
        (["--label", "Ann"], {"label": "Ann"}),
        (["--no-download"], {"overrides": {"allowDownload": False}}),
        (["--no-reader-choice"], {"overrides": {"readerChoice": False}}),
        (["--download", "--pages", "2-5"], {"overrides": {"allowDownload": True, "pageRange": {"from": 2, "to": 5}}}),
        (["--pages", "all"], {"overrides": {"pageRange": {"from": 0, "to": 0}}}),
        (["--label=--json"], {"label": "--json"}),
    ],
)
def test_the_options_of_one_link_are_sent(
    fake_variants: FakeVariants, shell: Shell, options: list[str], body: dict[str, Any]
) -> None:
    assert shell("variants", "create", FILE, *options).code == 0
    assert fake_variants.list_creates() == [body]
    assert [heard.method for heard in fake_variants.api.requests] == [*["GET"] * ("label" in body), "POST"]


def test_a_label_with_an_active_link_exits_with_7_and_one_with_a_revoked_link_is_available(
    fake_variants: FakeVariants, shell: Shell
) -> None:
    standing = fake_variants.add_variant("Ann")
    done = shell("variants", "create", FILE, "--label", " Ann ", "--json")
    assert (done.code, done.out, fake_variants.list_creates()) == (7, "", [])
    assert standing["url"] in done.error["detail"]
    standing["revoked"] = True
    assert shell("variants", "create", FILE, "--label", "Ann").code == 0


def test_a_write_only_key_can_create_a_link_with_a_label(fake_variants: FakeVariants, shell: Shell) -> None:
    fake_variants.api.on("GET", f"/files/{FILE}/variants", problem(403, "insufficient_scope"))
    assert shell("variants", "create", FILE, "--label", "Ann").out == f"Ann\t{variant_url(1)}\n"


def test_each_output_format_prints_its_part_of_the_variant(fake_variants: FakeVariants, shell: Shell) -> None:
    line = ("variants", "create", FILE, "--label")
    assert shell(*line, "Ann").out == f"Ann\t{variant_url(1)}\n"
    assert shell(*line, "Bob", "-q").out == f"{variant_url(2)}\n"
    assert shell(*line, "Cy", "--json").json == fake_variants.rows[0]
    assert shell(*line, "Dan", "--format", "ids").out == f"{variant_short_id(4)}\n"
    assert shell(*line, "Eve", "--template", "{label} {url}").out == f"Eve {variant_url(5)}\n"
    assert shell("variants", "create", FILE).out == f"\t{variant_url(6)}\n"


def test_a_terminal_shows_the_link_and_its_overrides(fake_variants: FakeVariants, shell: Shell) -> None:
    shell.tty = True
    shell.env["NO_COLOR"] = "1"
    done = shell("variants", "create", FILE, "--label", "Ann", "--no-download", "--pages", "1-2")
    assert done.lines == [variant_url(1), f"Ann · no download, pages 1-2 · {variant_short_id(1)}"]


def test_a_link_whose_response_is_lost_is_found_and_reported(fake_variants: FakeVariants, shell: Shell) -> None:
    fake_variants.lose = lambda body: True
    done = shell("variants", "create", FILE, "--label", "Ann", env={})
    assert (done.code, done.out, len(fake_variants.list_creates())) == (0, f"Ann\t{variant_url(1)}\n", 1)
    assert "the link was created" in done.err


@pytest.mark.parametrize(
    "options",
    [
        ["--label", "x", "--count", "2", "--label-template", "{n}"],
        ["--label", "x", "--from-csv", "x.csv"],
        ["--count", "2"],
        ["--label-template", "{n}"],
        ["--count", "0", "--label-template", "{n}"],
        ["--count", "201", "--label-template", "{n}"],
        ["--count", "2", "--label-template", "Guest"],
        ["--count", "2", "--label-template", "{x}{n}"],
        ["--count", "2", "--label-template", "{n:x}"],
        ["--count", "2", "--label-template", "{n"],
        ["--count", "2", "--label-template", "x" * 200 + "{n}"],
        ["--label", "x", "--out", "x.csv"],
        ["--label", "x", "--qr", "codes"],
        ["--label", "x", "--partial"],
        ["--label", "x", "--skip-duplicates"],
        ["--label", "Ann", "--label", " "],
        ["--label", "Ann", "--label", "x" * 201],
        ["--pages", "9-3"],
        ["--from-csv", "x.csv", "--delimiter", ";;"],
        ["--from-csv", "x.csv", "--delimiter", '"'],
    ],
)
def test_invalid_options_exit_with_2_and_send_nothing(
    fake_variants: FakeVariants, shell: Shell, options: list[str]
) -> None:
    assert shell("variants", "create", FILE, *options).code == 2
    assert fake_variants.api.requests == []


# --- several labels, and numbered links -------------------------------------------------------------------------------


def test_every_label_gets_a_link(fake_variants: FakeVariants, shell: Shell, tmp_path: Path) -> None:
    labels = ("--label", "Ann", "--label", "Bob")
    done = shell("variants", "create", FILE, *labels, "--pages", "1-2", "--out", tmp_path / "links.csv")
    assert (done.code, done.lines) == (0, [f"Ann\t{variant_url(1)}", f"Bob\t{variant_url(2)}"])
    assert [row["overrides"] for row in fake_variants.rows] == [{"pageRange": {"from": 1, "to": 2}}] * 2
    assert (tmp_path / "links.csv").read_text(encoding="utf-8").startswith("label,uuid,shortId,url,status,error\nAnn,")


def test_a_label_given_twice_is_rejected(fake_variants: FakeVariants, shell: Shell) -> None:
    done = shell("variants", "create", FILE, "--label", "Ann", "--label", "Bob", "--label", "Ann ")
    assert (done.code, fake_variants.list_creates()) == (2, [])
    assert "--label, row 3 (Ann)" in done.err


@pytest.mark.parametrize(
    ("count", "template", "labels"),
    [
        (3, "Guest {n:03}", ["Guest 001", "Guest 002", "Guest 003"]),
        (2, "{n}/{n:2}", ["1/01", "2/02"]),
        (1, "Only one", ["Only one"]),
    ],
)
def test_numbered_links_get_labels_from_the_template(
    fake_variants: FakeVariants, shell: Shell, count: int, template: str, labels: list[str]
) -> None:
    line = ("variants", "create", FILE, "--count", str(count), "--label-template", template, "--no-download")
    assert shell(*line).lines == [f"{label}\t{variant_url(n)}" for n, label in enumerate(labels, 1)]
    assert fake_variants.list_creates() == [{"label": label, "overrides": {"allowDownload": False}} for label in labels]


def test_numbered_links_are_recorded_in_a_file_and_created_once(
    fake_variants: FakeVariants, shell: Shell, tmp_path: Path
) -> None:
    line = ("variants", "create", FILE, "--count", "2", "--label-template", "G{n}", "--out", tmp_path / "o.csv")
    assert shell(*line).code == shell(*line).code == 0
    assert len(fake_variants.list_creates()) == 2
    assert (tmp_path / "o.csv").read_text().splitlines() == [
        "label,uuid,shortId,url,status,error",
        f"G1,{UUID.format(101)},{variant_short_id(1)},{variant_url(1)},created,",
        f"G2,{UUID.format(102)},{variant_short_id(2)},{variant_url(2)},created,",
    ]


# --- output for several links ----------------------------------------------------------------------------------------

MANY = ("variants", "create", FILE, "--count", "3", "--label-template", "G{n}")


@pytest.fixture
def variants_without_g2(fake_variants: FakeVariants) -> FakeVariants:
    """Return a fake server that rejects the label G2."""
    fake_variants.error_for = lambda body: (
        problem(400, "bad_request", "not this one") if body["label"] == "G2" else None
    )
    return fake_variants


def test_a_failed_row_prints_no_line_and_exits_with_12(variants_without_g2: FakeVariants, shell: Shell) -> None:
    done = shell(*MANY)
    assert (done.code, done.lines) == (12, [f"G1\t{variant_url(1)}", f"G3\t{variant_url(2)}"])
    assert "error: row 2 (G2): not this one" in done.err
    assert "2 created, 1 failed" in done.err


def test_json_is_an_array_of_variants_with_their_rows(variants_without_g2: FakeVariants, shell: Shell) -> None:
    done = shell(*MANY, "--json")
    first, second, third = done.json
    assert first == {**variants_without_g2.rows[1], "row": 1, "status": "created"}
    assert third == {**variants_without_g2.rows[0], "row": 3, "status": "created"}
    assert {key: second[key] for key in ("label", "row", "status")} == {"label": "G2", "row": 2, "status": "failed"}
    assert (second["error"]["code"], second["error"]["exit"]) == ("bad_request", 9)


def test_json_lines_are_streamed_and_csv_marks_failed_rows(variants_without_g2: FakeVariants, shell: Shell) -> None:
    assert [row["status"] for row in shell(*MANY, "--format", "jsonl").rows] == ["created", "failed", "created"]
    assert shell(*MANY, "--skip-duplicates", "--format", "csv").lines == [
        "row,label,url,shortId,uuid,status",
        f"1,G1,{variant_url(1)},{variant_short_id(1)},{UUID.format(101)},exists",
        "2,G2,,,,failed",
        f"3,G3,{variant_url(2)},{variant_short_id(2)},{UUID.format(102)},exists",
    ]


def test_a_pipe_gets_each_link_as_soon_as_it_is_created(fake_variants: FakeVariants, shell: Shell) -> None:
    known: list[tuple[str, int]] = []
    shell.written = lambda text: known.append((text.strip(), len(fake_variants.list_creates())))
    assert shell(*MANY).code == 0
    assert [entry for entry in known if entry[0]] == [(f"G{n}\t{variant_url(n)}", n) for n in (1, 2, 3)]


def test_a_terminal_shows_progress_then_a_table_then_a_summary(variants_without_g2: FakeVariants, shell: Shell) -> None:
    shell.tty = True
    shell.env["NO_COLOR"] = "1"
    done = shell(*MANY)
    assert done.lines[0].split() == ["LABEL", "LINK", "STATUS"]
    assert [line.split()[-1] for line in done.lines[1:]] == ["created", "failed", "created"]
    assert "1 of 3 links" in done.err
    assert "\x1b[Kerror: row 2" in done.err
    assert "█" in done.err or "░" in done.err
    assert done.err.endswith("2 created, 1 failed\n")


def test_quiet_suppresses_the_summary_but_not_the_failure(variants_without_g2: FakeVariants, shell: Shell) -> None:
    done = shell(*MANY, "-q")
    assert done.lines == [variant_url(1), variant_url(2)]
    assert done.err == "error: row 2 (G2): not this one\n"


@pytest.mark.parametrize(
    ("answer", "exit"),
    [
        (problem(401, "unauthorized"), 4), (problem(403, "plan_required"), 6), (problem(404, "not_found"), 3),
        (problem(500, "internal"), 11),
    ],
)  # fmt: skip
def test_an_error_that_affects_every_row_stops_the_run_with_its_code(
    fake_variants: FakeVariants, shell: Shell, answer: FakeResponse, exit: int
) -> None:
    fake_variants.error_for = lambda body: answer if body["label"] == "G2" else None
    done = shell(*MANY, "--json")
    assert done.code == exit
    assert [row["label"] for row in done.json] == ["G1"]
    assert done.error["exit"] == exit
    assert len(fake_variants.list_creates()) == 2


# --- rate limits -----------------------------------------------------------------------------------------------------


def test_many_links_stay_below_the_rate_limit_and_the_expected_time_is_printed(
    fake_variants: FakeVariants, shell: Shell, time: FakeTime
) -> None:
    left = [120]

    def limit_rate(body: dict[str, Any]) -> FakeResponse | None:
        left[0] -= 1
        return None if left[0] > 0 else problem(429, "rate_limited")

    fake_variants.error_for = limit_rate
    fake_variants.api.on(
        "POST", f"/files/{FILE}/variants", lambda heard: add_rate_limit(fake_variants._create(heard), left[0])
    )
    fake_variants.api.on(
        "GET", f"/files/{FILE}/variants", FakeResponse({"variants": []}, 200, make_rate_limit_headers(left[0]))
    )
    time.on_sleep = lambda seconds: left.__setitem__(0, min(left[0] + int(seconds * 2), 120))
    done = shell("variants", "create", FILE, "--count", "200", "--label-template", "G{n}")
    assert done.code == 0
    assert len(fake_variants.list_creates()) == 200
    assert left[0] >= 20  # a fifth of the limit is left for others
    assert done.err.splitlines()[0] == "creating 200 links takes about 52s: the server limits requests per minute"
    assert "keeping clear" not in done.err  # once is enough
    assert 50 <= time.passed <= 160


def make_rate_limit_headers(remaining: int) -> dict[str, str]:
    return {"RateLimit": f'"default";r={remaining};t=60', "RateLimit-Policy": '"default";q=120;w=60'}


def add_rate_limit(answer: FakeResponse, remaining: int) -> FakeResponse:
    return FakeResponse(answer.body, answer.status, make_rate_limit_headers(remaining))


# --- QR images -------------------------------------------------------------------------------------------------------


def test_each_row_gets_a_readable_qr_image(fake_variants: FakeVariants, shell: Shell, tmp_path: Path) -> None:
    codes = tmp_path / "codes"
    done = shell(*MANY, "--qr", codes, "--json")
    names = [f"G{n}-{variant_short_id(n)}.png" for n in (1, 2, 3)]
    assert sorted(path.name for path in codes.iterdir()) == names
    assert [row["qr"] for row in done.json] == [str(codes / name) for name in names]
    read = subprocess.run(["zbarimg", "-q", "--raw", *sorted(codes.iterdir())], capture_output=True, text=True)
    assert read.stdout.splitlines() == [f"{variant_url(n)}?via=qr" for n in (1, 2, 3)]


def test_the_next_run_creates_missing_qr_images_and_does_not_change_others(
    fake_variants: FakeVariants, shell: Shell, tmp_path: Path
) -> None:
    line = (*MANY, "--qr", tmp_path / "codes", "--out", tmp_path / "o.csv")
    assert shell(*MANY, "--out", tmp_path / "o.csv").code == 0
    assert shell(*line).code == 0
    first, second, _ = sorted((tmp_path / "codes").iterdir())
    first.unlink()
    second.write_bytes(b"kept")
    assert shell(*line).code == 0
    assert (first.read_bytes()[:4], second.read_bytes(), len(fake_variants.list_creates())) == (b"\x89PNG", b"kept", 3)
    assert (tmp_path / "o.csv").read_text().splitlines()[1].endswith(f",created,,{first}")


@pytest.mark.parametrize(
    "label", ["../../etc/passwd", "/abs", "..", "a/b\\c:d*e?", "-rf", "x" * 200, "日本 語", "𠮷" * 200]
)
def test_no_label_places_a_qr_image_outside_of_its_folder(
    fake_variants: FakeVariants, shell: Shell, tmp_path: Path, label: str
) -> None:
    source = tmp_path / "in.csv"
    source.write_text(f"label\n{label}\n", encoding="utf-8")
    assert shell("variants", "create", FILE, "--from-csv", source, "--qr", tmp_path / "codes").code == 0
    (picture,) = tmp_path.rglob("*.png")
    assert picture.parent == tmp_path / "codes"
    assert len(picture.name.encode()) < 255
    assert not picture.name.startswith("-")


def test_a_folder_that_cannot_be_written_exits_with_2(
    fake_variants: FakeVariants, shell: Shell, tmp_path: Path
) -> None:
    (tmp_path / "codes").write_text("a file")
    assert shell(*MANY, "--qr", tmp_path / "codes").code == 2
    assert fake_variants.list_creates() == []


# --- dry run, and qr of one variant ----------------------------------------------------------------------------------


def test_a_dry_run_prints_every_request_and_sends_none(fake_variants: FakeVariants, shell: Shell) -> None:
    path = f"/api/v1/files/{FILE}/variants"
    assert shell(*MANY, "--pages", "1", "-n").lines[1:] == [
        f'POST\t{path}\t{{"label": "G{n}", "overrides": {{"pageRange": {{"from": 1, "to": 1}}}}}}' for n in (2, 3)
    ]
    assert shell("variants", "create", FILE, "--label", "Ann", "-n", "--json").json == [
        {"method": "POST", "path": path, "body": json.dumps({"label": "Ann"})}
    ]
    assert fake_variants.api.requests == []


def test_qr_can_encode_the_link_of_a_variant(fake_variants: FakeVariants, shell: Shell, tmp_path: Path) -> None:
    fake_variants.add_variant("Ann")
    assert shell("qr", FILE, "--variant", "label:Ann", "--json").json == {"url": f"{variant_url(1)}?via=qr"}
    assert shell("qr", FILE, "--variant", variant_short_id(1), "-o", tmp_path / "ann.png").code == 0
    read = subprocess.run(["zbarimg", "-q", "--raw", tmp_path / "ann.png"], capture_output=True, text=True)
    assert read.stdout.strip() == f"{variant_url(1)}?via=qr"
    fake_variants.rows[0]["url"] = "javascript:alert(1)"
    assert shell("qr", FILE, "--variant", "label:Ann").code == 11
