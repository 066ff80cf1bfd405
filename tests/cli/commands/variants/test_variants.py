"""``docshare variants``: notations, list, show, update, revoke, restore, delete, and redact."""

from __future__ import annotations

import json
from typing import Any

import pytest

from docshare.cli.local.completion_words import read_completions
from tests.cli.commands.fakes.variants import FILE, FILE_UUID, FakeVariants, variant_short_id, variant_url
from tests.support.outside.fake_api import UUID, FakeApi, problem
from tests.support.shell import Shell

OTHER_UUID = UUID.format(2)


@pytest.fixture
def fake_variants(api: FakeApi) -> FakeVariants:
    """Create a file with two variants: Ann, who may not download, and Bob, whose link is revoked."""
    fake_server = FakeVariants(api)
    fake_server.add_variant("Ann", overrides={"allowDownload": False, "pageRange": {"from": 3, "to": 9}})
    fake_server.add_variant("Bob", revoked=True)
    return fake_server


@pytest.fixture
def two_file_variants(api: FakeApi, fake_variants: FakeVariants) -> FakeVariants:
    """Create two files: the first with Ann and Bob, an older one with another Ann and Cy."""
    api.files = [{"uuid": FILE_UUID, "slug": "offer"}, {"uuid": OTHER_UUID}]
    first = FakeVariants(api, FILE_UUID)
    first.add_variant("Ann")
    first.add_variant("Bob", revoked=True)
    older = FakeVariants(api, OTHER_UUID, first=11)
    older.add_variant("Ann")
    older.add_variant("Cy")
    return older


def make_variant_uuid(number: int) -> str:
    return UUID.format(100 + number)


# --- notations -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "word",
    [
        make_variant_uuid(1),
        make_variant_uuid(1).upper(),
        variant_short_id(1),
        variant_url(1),
        f"{variant_url(1)}?via=qr#p2",
        "label:Ann",
        "label: Ann ",
    ],
)
def test_every_notation_finds_the_variant(fake_variants: FakeVariants, shell: Shell, word: str) -> None:
    assert shell("variants", "show", word, "--file", FILE, "--json").json["uuid"] == make_variant_uuid(1)


@pytest.mark.parametrize("word", ["Ann", "", "https://d.example/", "https://[", "slug:offer", "short"])
def test_an_argument_that_is_not_a_variant_exits_with_2_and_sends_nothing(
    fake_variants: FakeVariants, shell: Shell, word: str
) -> None:
    assert shell("variants", "show", word, "--file", FILE).code == 2
    assert fake_variants.api.requests == []


@pytest.mark.parametrize("word", ["label:Zoe", variant_short_id(9), UUID.format(9), "label:ann"])
def test_an_unknown_variant_exits_with_3(fake_variants: FakeVariants, shell: Shell, word: str) -> None:
    assert shell("variants", "show", word, "--file", FILE).code == 3


def test_all_files_are_searched_newest_first_if_no_file_is_given(two_file_variants: FakeVariants, shell: Shell) -> None:
    assert shell("variants", "show", variant_url(12), "--fields", "label").out == "Cy\n"
    assert [heard.path for heard in two_file_variants.api.requests] == [
        "/files", f"/files/{FILE_UUID}/variants", f"/files/{OTHER_UUID}/variants",
    ]  # fmt: skip
    two_file_variants.api.requests.clear()
    assert shell("variants", "show", variant_short_id(1)).code == 0
    assert len(two_file_variants.api.requests) == 2  # found in the first file


def test_a_search_of_many_files_suggests_the_file_option(api: FakeApi, shell: Shell) -> None:
    api.files = [{"uuid": UUID.format(number)} for number in range(1, 6)]
    for number in range(1, 6):
        FakeVariants(api, UUID.format(number), first=number).add_variant(f"Guest {number}")
    done = shell("variants", "show", "label:Guest 2")
    assert (done.code, done.err.count("--file")) == (0, 1)
    assert "--file" not in shell("variants", "show", "label:Guest 2", "--file", UUID.format(2)).err


def test_an_ambiguous_label_exits_with_2_and_names_both_variants(two_file_variants: FakeVariants, shell: Shell) -> None:
    done = shell("variants", "revoke", "label:Ann", "--yes")
    assert done.code == 2
    assert variant_short_id(1) in done.err
    assert variant_short_id(11) in done.err
    assert two_file_variants.list_changes() == []
    assert shell("variants", "revoke", "label:Ann", "--yes", "--file", "slug:offer").code == 0
    assert two_file_variants.list_changes() == [("PUT", make_variant_uuid(1), {"revoked": True})]


def test_several_variants_are_read_from_arguments_or_stdin_each_once(fake_variants: FakeVariants, shell: Shell) -> None:
    rows = f"{variant_short_id(1)}\tx\n\n{variant_short_id(2)}\n{variant_url(1)}\n".encode()
    done = shell("variants", "restore", "-", "label:Bob", "--file", FILE, stdin=rows)
    assert done.lines == [
        f"{variant_short_id(1)}\tAnn\t{variant_url(1)}",
        f"{variant_short_id(2)}\tBob\t{variant_url(2)}",
    ]
    assert [number for _, number, _ in fake_variants.list_changes()] == [make_variant_uuid(1), make_variant_uuid(2)]
    assert len(fake_variants.api.list_requests("GET", f"/files/{FILE}/variants")) == 1
    assert shell("variants", "restore", "-", "--file", FILE).code == 2


# --- list and show -------------------------------------------------------------------------------------------------


def test_a_pipe_gets_tab_separated_values_and_json_is_the_response(fake_variants: FakeVariants, shell: Shell) -> None:
    assert shell("variants", "list", FILE).lines == [
        f"{variant_short_id(2)}\t{make_variant_uuid(2)}\tBob\t{variant_url(2)}\ttrue\tfalse\t2026-09-21T14:13:22.000Z",
        f"{variant_short_id(1)}\t{make_variant_uuid(1)}\tAnn\t{variant_url(1)}\tfalse\tfalse\t2026-09-21T14:13:21.000Z",
    ]
    assert shell("variants", "list", FILE, "--json").json == fake_variants.rows
    assert shell("variants", "list", FILE, "--format", "ids").lines == [variant_short_id(2), variant_short_id(1)]


def test_the_table_shows_overrides_and_state(fake_variants: FakeVariants, shell: Shell) -> None:
    shell.tty = True
    shell.env |= {"NO_COLOR": "1", "COLUMNS": "140"}
    header, bob, ann = shell("variants", "list", FILE).lines
    assert header.split() == ["LABEL", "ID", "LINK", "ALLOWS", "CREATED", "STATE"]
    assert bob.endswith("revoked")
    assert "no download, pages 3-9" in ann
    fake_variants.rows.clear()
    done = shell("variants", "list", FILE)
    assert (done.out, "docshare variants create" in done.err) == ("", True)


@pytest.mark.parametrize(
    ("options", "labels"),
    [
        ([], ["Cy", "Bob", "Ann"]),
        (["--active"], ["Cy", "Ann"]),
        (["--revoked"], ["Bob"]),
        (["--redacted"], ["Cy"]),
        (["--revoked", "--redacted"], ["Cy", "Bob"]),
    ],
)
def test_options_filter_by_state(
    fake_variants: FakeVariants, shell: Shell, options: list[str], labels: list[str]
) -> None:
    fake_variants.add_variant("Cy", redacted=True)
    assert [row["label"] for row in shell("variants", "list", FILE, *options, "--json").json] == labels


def test_a_label_cannot_control_the_terminal(fake_variants: FakeVariants, shell: Shell) -> None:
    fake_variants.rows[0]["label"] = "x\x1b]0;owned\x07[/]"
    shell.tty = True
    for line in (("list", FILE), ("show", variant_short_id(2), "--file", FILE)):
        assert "\x1b]" not in shell("variants", *line).out


def test_list_without_pro_exits_with_6(fake_variants: FakeVariants, shell: Shell) -> None:
    fake_variants.api.on("GET", f"/files/{FILE}/variants", problem(403, "plan_required", "requires the pro plan"))
    assert shell("variants", "list", FILE).code == 6


def test_list_fills_the_completion_cache_and_redact_clears_it(fake_variants: FakeVariants, shell: Shell) -> None:
    assert shell("variants", "list", FILE).code == 0
    assert read_completions("variants", shell.env) == [f"{variant_short_id(2)}\tBob", f"{variant_short_id(1)}\tAnn"]
    assert shell("variants", "redact", variant_short_id(1), "--file", FILE, "--yes").code == 0
    assert read_completions("variants", shell.env) == []


# --- update --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "body"),
    [
        (["--download"], {"overrides": {"allowDownload": True, "pageRange": {"from": 3, "to": 9}}}),
        (["--pages", "all"], {"overrides": {"allowDownload": False, "pageRange": {"from": 0, "to": 0}}}),
        (["--pages", "4"], {"overrides": {"allowDownload": False, "pageRange": {"from": 4, "to": 4}}}),
        (["--pages", "1-2", "--replace-overrides"], {"overrides": {"pageRange": {"from": 1, "to": 2}}}),
        (["--overrides", '{"allowDownload":true}', "--replace-overrides"], {"overrides": {"allowDownload": True}}),
        (
            ["--overrides", '{"allowDownload":true}'],
            {"overrides": {"allowDownload": True, "pageRange": {"from": 3, "to": 9}}},
        ),
        (["--overrides", "{}", "--replace-overrides"], {"overrides": {}}),
        (["--clear-overrides"], {"overrides": {}}),
        (["--label", "Ann Lee"], {"label": "Ann Lee"}),
        (["--clear-label"], {"label": ""}),
    ],
)
def test_update_merges_overrides_and_writes_them_as_a_whole(
    fake_variants: FakeVariants, shell: Shell, options: list[str], body: dict[str, Any]
) -> None:
    assert shell("variants", "update", "label:Ann", "--file", FILE, *options).code == 0
    assert fake_variants.list_changes() == [("PUT", make_variant_uuid(1), body)]


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--label", ""],
        ["--label", "x", "--clear-label"],
        ["--pages", "9-3"],
        ["--pages", "0"],
        ["--pages", ""],
        ["--overrides", "[]"],
        ["--overrides", "{"],
        ["--overrides", '{"password":"x"}'],
        ["--overrides", '{"allowDownload":"no"}'],
        ["--overrides", "{}", "--download"],
        ["--clear-overrides", "--download"],
        ["--clear-overrides", "--replace-overrides"],
    ],
)
def test_an_invalid_update_exits_with_2_and_writes_nothing(
    fake_variants: FakeVariants, shell: Shell, options: list[str]
) -> None:
    assert shell("variants", "update", "label:Ann", "--file", FILE, *options).code == 2
    assert fake_variants.list_changes() == []


def test_verbose_prints_the_request_and_a_dry_run_sends_nothing(fake_variants: FakeVariants, shell: Shell) -> None:
    line = ("variants", "update", "label:Ann", "--file", FILE, "--download")
    sent = '{"overrides": {"allowDownload": true, "pageRange": {"from": 3, "to": 9}}}'
    assert shell(*line, "-n").out == f"PUT\t/api/v1/files/{FILE}/variants/{make_variant_uuid(1)}\t{sent}\n"
    assert fake_variants.list_changes() == []
    assert sent in shell(*line, "-v").err
    shell.tty = True
    shell.env["NO_COLOR"] = "1"
    assert shell(*line).out == f'updated {variant_short_id(1)}: "Ann", download, pages 3-9\n'


def test_a_redacted_variant_cannot_get_a_label(fake_variants: FakeVariants, shell: Shell) -> None:
    fake_variants.api.on("PUT", f"/files/{FILE}/variants/{make_variant_uuid(1)}", problem(409, "conflict", "redacted"))
    assert shell("variants", "update", "label:Ann", "--file", FILE, "--label", "x").code == 7


# --- revoke, restore, delete, redact ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "change"),
    [
        ("revoke", ("PUT", make_variant_uuid(1), {"revoked": True})),
        ("restore", ("PUT", make_variant_uuid(1), {"revoked": False})),
        ("delete", ("DELETE", make_variant_uuid(1), {})),
        ("redact", ("DELETE", make_variant_uuid(1), {"redact": "1"})),
    ],
)
def test_each_command_sends_its_change_and_a_dry_run_sends_none(
    fake_variants: FakeVariants, shell: Shell, command: str, change: tuple[str, str, dict[str, Any]]
) -> None:
    planned = shell("variants", command, "label:Ann", "--file", FILE, "-n")
    assert (planned.code, planned.out.split("\t")[0], fake_variants.list_changes()) == (0, change[0], [])
    assert ("?redact=1" in planned.out) == (command == "redact")
    assert shell("variants", command, "label:Ann", "--file", FILE, "--yes").code == 0
    assert fake_variants.list_changes() == [change]


@pytest.mark.parametrize("command", ["revoke", "delete"])
@pytest.mark.parametrize(("answer", "code"), [(b"y\n", 0), (b"n\n", 2), (b"", 2)])
def test_revoke_and_delete_prompt_on_a_terminal(
    fake_variants: FakeVariants, shell: Shell, command: str, answer: bytes, code: int
) -> None:
    assert shell("variants", command, "label:Ann", "--file", FILE, stdin=b"y\n").code == 2  # there is no one to prompt
    shell.tty = True
    done = shell("variants", command, "label:Ann", "--file", FILE, stdin=answer)
    assert done.code == code
    assert f'{command.capitalize()} "Ann"?' in done.err
    assert ("unattributed" in done.err) == (command == "delete")
    assert len(fake_variants.list_changes()) == (1 if code == 0 else 0)


def test_restore_needs_no_confirmation(fake_variants: FakeVariants, shell: Shell) -> None:
    assert shell("variants", "restore", "label:Bob", "--file", FILE).code == 0


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["label:Ann"], 2),
        (["label:Ann", "--yes"], 0),
        (["label:Ann", "--confirm", "Ann"], 0),
        (["label:Ann", "--confirm", variant_short_id(1)], 0),
        (["label:Ann", "--confirm", "ann"], 2),
        (["label:Ann", "--confirm", variant_short_id(2)], 2),
        (["label:Ann", "label:Bob", "--yes"], 2),
        (["label:Ann", "label:Bob", "--yes", "--count", "3"], 2),
        (["label:Ann", "label:Bob", "--yes", "--count", "2"], 0),
        (["label:Ann", "label:Bob", "--confirm", "Ann"], 2),
    ],
)
def test_redact_requires_yes_or_the_exact_confirmation(
    fake_variants: FakeVariants, shell: Shell, options: list[str], code: int
) -> None:
    done = shell("variants", "redact", *options, "--file", FILE)
    assert done.code == code, done.err
    assert bool(fake_variants.list_changes()) == (code == 0)


@pytest.mark.parametrize(("typed", "code"), [("Ann", 0), ("y", 2), ("", 2), ("ann", 2)])
def test_redact_prompts_for_the_label_on_a_terminal(
    fake_variants: FakeVariants, shell: Shell, typed: str, code: int
) -> None:
    shell.tty = True
    done = shell("variants", "redact", variant_short_id(1), "--file", FILE, stdin=f"{typed}\n".encode())
    assert done.code == code
    assert "cannot be undone" in done.err
    assert "Type Ann to confirm" in done.err


def test_a_variant_without_a_label_is_redacted_by_its_short_id(fake_variants: FakeVariants, shell: Shell) -> None:
    fake_variants.add_variant(None)
    assert shell("variants", "redact", variant_short_id(3), "--file", FILE, "--confirm", variant_short_id(3)).code == 0


def test_one_failure_among_several_variants_is_reported_and_does_not_stop_the_rest(
    fake_variants: FakeVariants, shell: Shell
) -> None:
    fake_variants.api.on(
        "DELETE", f"/files/{FILE}/variants/{make_variant_uuid(1)}", problem(404, "not_found", "gone already")
    )
    done = shell("variants", "delete", variant_short_id(1), variant_short_id(2), "--file", FILE, "--yes", "--json")
    assert done.code == 12
    assert [(row["variant"], row.get("deleted")) for row in done.json] == [
        (variant_short_id(1), None),
        (variant_short_id(2), True),
    ]
    assert f"{variant_short_id(1)}: gone already" in done.err


# --- every command -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        ("list", FILE), ("show", variant_short_id(1)), ("update", variant_short_id(1), "--download"), ("revoke",
            variant_short_id(1), "--yes"),
        ("restore", variant_short_id(1)), ("delete", variant_short_id(1), "--yes"), ("redact", variant_short_id(1),
            "--yes"),
        ("export", FILE, "--out", "-"), ("create", FILE, "--label", "x"),
    ],
    ids=lambda line: line[0],
)  # fmt: skip
@pytest.mark.parametrize(("status", "code", "exit"), [(401, "unauthorized", 4), (404, "not_found", 3), (500, "x", 11)])
def test_failures_print_nothing_on_stdout_and_one_json_line_on_stderr(
    api: FakeApi, shell: Shell, line: tuple[str, ...], status: int, code: str, exit: int
) -> None:
    for method in ("GET", "POST"):
        api.on(method, f"/files/{FILE}/variants", problem(status, code))
    more = () if line[0] in ("list", "export", "create") else ("--file", FILE)
    done = shell("variants", *line, *more, "--json")
    assert (done.code, done.out) == (exit, "")
    assert json.loads(done.err.splitlines()[-1])["error"]["status"] == status


def test_redact_in_a_pipe_reports_the_missing_confirmation(fake_variants: FakeVariants, shell: Shell) -> None:
    done = shell("variants", "redact", "label:Ann", "--file", FILE, "--json")
    assert (done.code, done.error["detail"]) == (2, 'Redacting the label "Ann" for good requires confirmation')


def test_a_change_is_printed_only_once(fake_variants: FakeVariants, shell: Shell) -> None:
    shell.tty = True
    assert shell("variants", "revoke", "label:Ann", "--file", FILE, "--yes", "--no-color").out.count("revoked") == 1
