"""Every output format on stdout, and remote text that must not control a terminal."""

from __future__ import annotations

import csv
import io
import json

import pytest

from tests.support.outside.fake_api import UUID, FakeApi, FakeTime
from tests.support.shell import Shell

# Malicious file names: colors, a title, bidi, zero width, C1, markup, a line break.
HOSTILE = [
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "\x1b]8;;http://evil.example\x1b\\click\x1b]8;;\x1b\\",
    "gpj.\u202efdp",
    "zero\u200bwidth\u200d",
    "\x9b31mred",
    "[/]",
    "[red]x[/red]",
    "line\nbreak\rreturn",
    "tab\tstop",
    "del\x7f",
    "\u2028separator",
    "\U000e0041tag",
    "lone\ud800",
]


def make_file(number: int = 1, **more: object) -> dict[str, object]:
    return {
        "uuid": UUID.format(number),
        "shortId": f"aB3dE5fG{number:04d}",
        "originalName": f"report {number}.pdf",
        "size": 4_404_019,
        "createdAt": "2026-09-21T12:00:00.000Z",
        "viewCount": number,
        "shareUrl": f"https://docs.example/aB3dE5fG{number:04d}",
        **more,
    }


def list_output(api: FakeApi, shell: Shell, *options: str, files: list[dict[str, object]] | None = None) -> str:
    api.files = [make_file(1), make_file(2, slug="offer")] if files is None else files
    done = shell("files", "list", *options)
    assert done.code == 0, done.err
    return done.out


def parse_csv(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline=""), strict=True))


# --- formats -----------------------------------------------------------------------------------------------------


def test_a_pipe_gets_tab_separated_values_without_a_header(api: FakeApi, shell: Shell) -> None:
    assert list_output(api, shell).splitlines() == [
        f"aB3dE5fG0001\t{UUID.format(1)}\treport 1.pdf\t4404019\t1\t2026-09-21T12:00:00.000Z\t\t",
        f"aB3dE5fG0002\t{UUID.format(2)}\treport 2.pdf\t4404019\t2\t2026-09-21T12:00:00.000Z\t\toffer",
    ]


def test_json_is_the_response_of_the_api_with_unknown_fields_in_order(api: FakeApi, shell: Shell) -> None:
    sent = [{"zebra": [1, {"a": None}], **make_file(1), "future": "ünïcode"}]
    out = list_output(api, shell, "--json", files=sent)
    assert json.loads(out) == sent
    assert out.index("zebra") < out.index("uuid") < out.index("future")
    assert "ünïcode" in out
    assert out.count("\n") == 1


def test_jsonl_is_one_line_per_row(api: FakeApi, shell: Shell) -> None:
    assert [json.loads(line)["viewCount"] for line in list_output(api, shell, "--format", "jsonl").splitlines()] == [
        1,
        2,
    ]


def test_ids_prints_only_ids(api: FakeApi, shell: Shell) -> None:
    assert list_output(api, shell, "--format", "ids") == "aB3dE5fG0001\naB3dE5fG0002\n"


@pytest.mark.parametrize(("form", "delimiter"), [("csv", ","), ("tsv", "\t")])
def test_csv_and_tsv_have_a_header(api: FakeApi, shell: Shell, form: str, delimiter: str) -> None:
    rows = list(csv.reader(io.StringIO(list_output(api, shell, "--format", form)), delimiter=delimiter))
    assert rows[0] == ["shortId", "uuid", "originalName", "size", "viewCount", "createdAt", "deleteAt", "slug"]
    assert rows[2][7] == "offer"


def test_the_header_can_be_added_and_omitted(api: FakeApi, shell: Shell) -> None:
    assert list_output(api, shell, "--header").startswith("shortId\tuuid")
    assert list_output(api, shell, "--format", "csv", "--no-header").startswith("aB3dE5fG0001,")


@pytest.mark.parametrize("start", ["=1+1", "+1", "-1", "@x", "\tx", "\rx", "\nx", "＝1", "\ufeff=1", "\u200b＠x"])
def test_csv_escapes_formulas(api: FakeApi, shell: Shell, start: str) -> None:
    files = [make_file(1, originalName=start, viewCount=-5)]
    options = ("--format", "csv", "--no-header", "--fields", "originalName,viewCount")
    assert parse_csv(list_output(api, shell, *options, files=files)) == [[f"'{start}", "-5"]]
    assert parse_csv(list_output(api, shell, *options, "--raw-csv", files=files)) == [[start, "-5"]]


@pytest.mark.parametrize("name", [*HOSTILE, "zero\u200cwidth", 'a,b"c', "bare\rreturn", "nul\0"], ids=ascii)
def test_csv_in_a_pipe_preserves_the_text(api: FakeApi, shell: Shell, name: str) -> None:
    """Half of a surrogate pair cannot be encoded in UTF-8, and stays an escape."""
    options = ("--format", "csv", "--no-header", "--query", "[].{a: originalName, b: tags}", "--raw-csv")
    storable = name.replace("\ud800", "\\ud800")
    (row,) = parse_csv(list_output(api, shell, *options, files=[make_file(1, originalName=name, tags=[name])]))
    assert (row[0], json.loads(row[1])) == (storable, [name])


def test_a_terminal_gets_a_table_of_aligned_columns(api: FakeApi, shell: Shell, time: FakeTime) -> None:
    shell.tty = True
    shell.env["NO_COLOR"] = "1"
    files = [
        make_file(1, protected=True, allowDownload=False),
        make_file(2, originalName="日本語.pdf", deleteAt="2026-09-21T16:20:00.000Z"),
    ]
    assert list_output(api, shell, files=files).splitlines() == [
        "NAME          ID            VIEWS  SIZE    UPLOADED  EXPIRES  STATE",
        "report 1.pdf  aB3dE5fG0001  1      4.2 MB  2 h ago            password, no download",
        "日本語.pdf    aB3dE5fG0002  2      4.2 MB  2 h ago   in 2 h",
    ]


def test_an_empty_column_is_omitted(api: FakeApi, shell: Shell) -> None:
    shell.tty = True
    shell.env["NO_COLOR"] = "1"
    assert list_output(api, shell).splitlines()[0].split() == ["NAME", "ID", "LINK", "VIEWS", "SIZE", "UPLOADED"]


@pytest.mark.parametrize("width", [20, 40, 60, 80, 200])
def test_a_table_fits_the_terminal_and_never_truncates_an_id(api: FakeApi, shell: Shell, width: int) -> None:
    shell.tty = True
    shell.env |= {"COLUMNS": str(width), "NO_COLOR": "1"}
    lines = list_output(api, shell, files=[make_file(1, originalName="a very long name of a file " * 5)]).splitlines()
    assert all(len(line) <= max(width, 22) for line in lines)
    assert "aB3dE5fG0001" in lines[1]
    if width >= 40:
        assert "a very" in lines[1]


def test_only_a_flexible_column_is_truncated_with_an_ellipsis(api: FakeApi, shell: Shell) -> None:
    shell.tty = True
    shell.env |= {"COLUMNS": "40", "NO_COLOR": "1"}
    files = [make_file(1, originalName="a very long name of a file"), make_file(2, originalName="日本語" * 9)]
    assert list_output(api, shell, files=files).splitlines() == [
        "NAME              ID            UPLOADED",
        "a very long nam…  aB3dE5fG0001  2 h ago",
        "日本語日本語日 …  aB3dE5fG0002  2 h ago",
    ]


@pytest.mark.parametrize("color", ["always", "never"])
def test_a_table_is_rendered_with_the_capabilities_that_docshare_detected(
    api: FakeApi, shell: Shell, color: str
) -> None:
    """Rich also reads the environment of the process, with rules of its own."""
    shell.tty = True
    shell.env["COLUMNS"] = "150"
    files = [make_file(1, originalName="a long name " * 9)]
    usual = list_output(api, shell, f"--color={color}", files=files)
    assert ("\x1b[" in usual) == (color == "always")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"FORCE_COLOR": "1", "NO_COLOR": "1", "COLUMNS": "12", "TERM": "dumb"}.items():
            patch.setenv(name, value)
        assert list_output(api, shell, f"--color={color}", files=files) == usual


def test_an_empty_list_is_a_success_with_empty_output(api: FakeApi, shell: Shell) -> None:
    assert list_output(api, shell, files=[]) == ""
    assert list_output(api, shell, "--json", files=[]) == "[]\n"
    shell.tty = True
    done = shell("files", "list")
    assert (done.code, done.out) == (0, "")
    assert "no files yet" in done.err


def test_an_object_in_a_pipe_is_one_line_per_field(api: FakeApi, shell: Shell) -> None:
    api.on("GET", "/files/aB3dE5fG0001", {**make_file(1), "revisions": [{"size": 1}], "protected": False})
    lines = shell("files", "show", "aB3dE5fG0001").lines
    assert lines[0] == f"uuid\t{UUID.format(1)}"
    assert 'revisions\t[{"size":1}]' in lines
    assert "protected\tfalse" in lines


def test_one_selected_field_of_an_object_prints_only_its_value(api: FakeApi, shell: Shell) -> None:
    api.on("GET", "/files/aB3dE5fG0001", make_file(1))
    assert shell("show", "aB3dE5fG0001", "--fields", "shareUrl").out == "https://docs.example/aB3dE5fG0001\n"


# --- selection ---------------------------------------------------------------------------------------------------


def test_fields_selects_columns_in_every_format(api: FakeApi, shell: Shell) -> None:
    files = [make_file(1, viewerSettings={"brand": {"accentColor": "#ff0000"}})]
    options = ("--fields", "viewerSettings.brand.accentColor,viewCount")
    assert list_output(api, shell, *options, files=files) == "#ff0000\t1\n"
    assert json.loads(list_output(api, shell, *options, "--json", files=files)) == [
        {"viewerSettings.brand.accentColor": "#ff0000", "viewCount": 1}
    ]
    assert list_output(api, shell, *options, "--format", "csv", files=files).splitlines()[1] == "#ff0000,1"
    shell.tty = True
    assert "VIEWS" in list_output(api, shell, *options, files=files)


def test_fields_question_mark_lists_them_and_does_nothing_else(api: FakeApi, shell: Shell) -> None:
    done = shell("files", "delete", "aB3dE5fG0001", "--yes", "--fields", "?")
    assert done.code == 0
    assert done.lines == ["file", "trashed", "purgeAt", "trashedAt"]
    assert api.requests == []


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        (("key", "create", "ada@example.com"), ["key", "uuid"]),
        (("account", "create", "ada@example.com"), ["apiKey", "email", "tier", "uuid", "name"]),
        (("login-link", "ada@example.com"), ["url"]),
        (("sweep",), ["burned", "purged", "expired", "removed"]),
    ],
    ids=lambda value: value[0],
)
def test_fields_question_mark_does_not_change_the_instance(
    shell: Shell, line: tuple[str, ...], fields: list[str]
) -> None:
    done = shell("admin", *line, "--fields", "?")
    assert (done.code, done.lines) == (0, fields)
    assert not (shell.home / "data").exists()


def test_a_query_selects_from_the_json(api: FakeApi, shell: Shell) -> None:
    assert json.loads(list_output(api, shell, "--query", "[].viewCount")) == [1, 2]
    assert json.loads(list_output(api, shell, "--query", "sum([].viewCount)")) == 3
    assert list_output(api, shell, "--query", "[].shortId", "--format", "plain") == "aB3dE5fG0001\naB3dE5fG0002\n"
    assert list_output(api, shell, "--query", "[].[viewCount, shortId]", "--format", "plain").startswith("1\taB3d")
    assert list_output(api, shell, "--query", "[].{n: viewCount}", "--format", "csv") == "n\n1\n2\n"
    assert list_output(api, shell, "--query", "[5]") == "null\n"


def test_a_query_that_fails_on_the_data_exits_with_2_and_prints_nothing(api: FakeApi, shell: Shell) -> None:
    api.files = [make_file(1)]
    done = shell("files", "list", "--query", "length([0].size)")
    assert (done.code, done.out) == (2, "")


def test_a_template_prints_one_line_per_row(api: FakeApi, shell: Shell) -> None:
    template = r"{shortId}\t{{{slug}}} {viewerSettings.x.y}|\n"
    assert list_output(api, shell, "--template", template) == "aB3dE5fG0001\t{} |\n\naB3dE5fG0002\t{offer} |\n\n"


@pytest.mark.parametrize("template", ["{shortId.__class__}", "{originalName.upper}", "{shortId.0}"])
def test_a_template_can_only_read_keys(api: FakeApi, shell: Shell, template: str) -> None:
    api.files = [make_file(1)]
    done = shell("files", "list", "--template", template)
    assert (done.code, done.out, "is not an object" in done.err) == (2, "", True), done.err


def test_filter_sort_and_limit_report_omitted_rows(api: FakeApi, shell: Shell) -> None:
    api.files = [make_file(number, **({"slug": "a"} if number == 2 else {})) for number in (1, 3, 2)]
    done = shell("ls", "--filter", "viewCount > `1`", "--sort", "-viewCount", "-L", "1", "--format", "ids")
    assert done.out == "aB3dE5fG0003\n"
    assert "showing 1 of 2" in done.err
    assert shell("ls", "--sort", "slug", "--format", "ids").lines == ["aB3dE5fG0002", "aB3dE5fG0001", "aB3dE5fG0003"]
    assert shell("ls", "--sort", "originalName", "--format", "ids").lines[0] == "aB3dE5fG0001"


def test_the_format_of_the_environment_applies_and_an_invalid_one_is_reported(api: FakeApi, shell: Shell) -> None:
    shell.env["DOCSHARE_FORMAT"] = "ids"
    assert list_output(api, shell) == "aB3dE5fG0001\naB3dE5fG0002\n"
    shell.env["DOCSHARE_FORMAT"] = "xml"
    done = shell("files", "list")
    assert done.code == 2
    assert "env DOCSHARE_FORMAT" in done.err


# --- remote text -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "tty"),
    [("csv", True), *((form, tty) for form in ("table", "plain", "tsv") for tty in (False, True))],
)
@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_a_hostile_name_is_escaped(api: FakeApi, shell: Shell, name: str, form: str, tty: bool) -> None:
    shell.tty = tty
    shell.env |= {"NO_COLOR": "1", "COLUMNS": "300"}
    out = list_output(api, shell, "--format", form, files=[make_file(1, originalName=name)])
    harmless = set(out.removesuffix("\n").replace("\n", "", 1 if form != "plain" else 0)) - {"\t"}
    assert all(char.isprintable() for char in harmless), ascii(out)
    assert out.count("\n") == (1 if form == "plain" else 2)


@pytest.mark.parametrize("tty", [False, True])
@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_a_hostile_key_is_escaped(api: FakeApi, shell: Shell, name: str, tty: bool) -> None:
    shell.tty = tty
    shell.env |= {"NO_COLOR": "1", "COLUMNS": "300"}
    out = list_output(api, shell, "--format", "table", "--query", "[].x", files=[make_file(1, x={name: 1})])
    out += list_output(api, shell, "--format", "table", "--query", "[0].x", files=[make_file(1, x={name: 1})])
    out += list_output(api, shell, "--format", "plain", "--query", "[0].x", files=[make_file(1, x={name: 1})]).replace(
        "\t", " "
    )
    assert all(char.isprintable() for char in out.replace("\n", "")), ascii(out)
    assert out.count("\n") == 4


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_json_on_a_terminal_is_ascii_with_the_same_value(api: FakeApi, shell: Shell, name: str) -> None:
    shell.tty = True
    out = list_output(api, shell, "--json", files=[make_file(1, originalName=name)])
    assert out.isascii()
    assert all(char.isprintable() or char == "\n" for char in out)
    assert json.loads(out)[0]["originalName"] == name


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_json_in_a_pipe_preserves_the_value(api: FakeApi, shell: Shell, name: str) -> None:
    assert (
        json.loads(list_output(api, shell, "--json", files=[make_file(1, originalName=name)]))[0]["originalName"]
        == name
    )


def test_escapes_identify_the_character(api: FakeApi, shell: Shell) -> None:
    out = list_output(
        api, shell, "--fields", "originalName", files=[make_file(1, originalName="a\x1b\x9b\u202e\U000e0041\tb\n")]
    )
    assert out == "a\\x1b\\x9b\\u202e\\U000e0041\\tb\\n\n"


def test_ordinary_names_are_printed_unchanged(api: FakeApi, shell: Shell) -> None:
    name = "Über 日本 ½ – “x” 🎉 a\u00a0b.pdf"
    assert list_output(api, shell, "--fields", "originalName", files=[make_file(1, originalName=name)]) == name + "\n"


# --- color -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tty", "env", "option", "colored"),
    [
        (True, {}, [], True),
        (False, {}, [], False),
        (True, {"NO_COLOR": "1"}, [], False),
        (True, {"NO_COLOR": "0"}, [], False),
        (True, {"NO_COLOR": ""}, [], True),
        (True, {"DOCSHARE_NO_COLOR": "1"}, [], False),
        (True, {"DOCSHARE_NO_COLOR": "0"}, [], True),
        (True, {"CLICOLOR": "0"}, [], False),
        (True, {"TERM": "dumb"}, [], False),
        (False, {"FORCE_COLOR": "1"}, [], True),
        (False, {"FORCE_COLOR": "0"}, [], False),
        (False, {"CLICOLOR_FORCE": "1"}, [], True),
        (False, {"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, [], False),
        (True, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, [], False),
        (True, {}, ["--no-color"], False),
        (True, {}, ["--color", "never"], False),
        (False, {}, ["--color=always"], True),
        (False, {"NO_COLOR": "1"}, ["--color=always"], True),
        (True, {"NO_COLOR": "1"}, ["--color=auto"], False),
    ],
)
def test_color_depends_on_option_then_environment_then_stream(
    api: FakeApi, shell: Shell, tty: bool, env: dict[str, str], option: list[str], colored: bool
) -> None:
    shell.tty = tty
    shell.env |= env
    assert ("\x1b[" in list_output(api, shell, "--format", "table", *option)) == colored


@pytest.mark.parametrize("form", ["plain", "csv", "tsv", "json", "jsonl", "ids"])
def test_data_for_programs_is_never_colored(api: FakeApi, shell: Shell, form: str) -> None:
    shell.env |= {"FORCE_COLOR": "1", "CLICOLOR_FORCE": "1"}
    assert "\x1b" not in list_output(api, shell, "--format", form, "--color=always")
