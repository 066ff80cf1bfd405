"""``docshare import``: request, output and failures."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from docshare.server.pdf import engine
from tests.support.documents.picture_pdfs import BLUE, RED, make_stripes, picture_pdf
from tests.support.outside.fake_api import UUID, FakeApi, FakeResponse, FakeTime, problem
from tests.support.outside.import_source import ImportSource, http_response, make_certificate, open_source
from tests.support.shell import Shell

if TYPE_CHECKING:
    from tests.support.people.cast import Person, World

URL = "https://designs.example/q3.pdf"
LINK = "https://d.example/aB3dE5fG7h01"
RESULT = {"uuid": UUID.format(1), "shortId": "aB3dE5fG7h01", "shareUrl": LINK}
PALETTE = ["#143cdc", "#c81e28"]
PATH = "/files/import"


@pytest.fixture(autouse=True)
def _import_route(api: FakeApi) -> None:
    api.on("POST", PATH, RESULT | {"palette": PALETTE})


def test_a_pipe_gets_only_the_link(api: FakeApi, shell: Shell) -> None:
    done = shell("import", URL)
    assert (done.code, done.out, done.err) == (0, f"{LINK}\n", "")
    (heard,) = api.list_requests("POST", PATH)
    assert heard.body == b'{"url": "https://designs.example/q3.pdf"}'
    assert heard.headers["Content-Type"] == "application/json"


def test_name_is_sent_with_the_request(api: FakeApi, shell: Shell) -> None:
    shell("import", URL, "--name", "Q3.pdf")
    assert api.list_requests("POST", PATH)[0].body == b'{"url": "https://designs.example/q3.pdf", "filename": "Q3.pdf"}'


def test_a_terminal_shows_link_details_and_color_swatches(shell: Shell) -> None:
    shell.tty = True
    done = shell("import", URL, "--name", "Q3.pdf")
    assert done.lines == [
        f"\x1b[1m{LINK}\x1b[0m",
        "\x1b[2mQ3.pdf · aB3dE5fG7h01 · never expires · no password\x1b[0m",
        "\x1b[48;2;20;60;220m    \x1b[0m #143cdc  \x1b[48;2;200;30;40m    \x1b[0m #c81e28",
    ]
    assert shell("import", URL, "-q", "--no-color").out == f"{LINK}\n"


def test_the_palette_is_text_without_color(shell: Shell) -> None:
    shell.tty = True
    assert shell("import", URL, "--no-color").lines == [
        LINK, "design.pdf · aB3dE5fG7h01 · never expires · no password", "#143cdc  #c81e28",
    ]  # fmt: skip


@pytest.mark.parametrize("more", [{}, {"palette": []}])
def test_a_document_without_a_palette_has_two_lines(api: FakeApi, shell: Shell, more: dict[str, Any]) -> None:
    api.on("POST", PATH, RESULT | more)
    shell.tty = True
    assert len(shell("import", URL).lines) == 2


def test_a_palette_cannot_control_the_terminal(api: FakeApi, shell: Shell) -> None:
    api.on("POST", PATH, RESULT | {"palette": ["#143cdc\x1b[2J", "0;1m", 7]})
    shell.tty = True
    assert shell("import", URL).lines[2] == "#143cdc\\x1b[2J  0;1m  7"


def test_json_is_the_response_of_the_api(shell: Shell) -> None:
    assert shell("import", URL, "--json").json == RESULT | {"palette": PALETTE}
    shell.tty = True
    assert shell("import", URL, "--json").json == RESULT | {"palette": PALETTE}


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        (("--print", "id"), "aB3dE5fG7h01"),
        (("--print", "uuid"), UUID.format(1)),
        (("--format", "ids"), "aB3dE5fG7h01"),
        (("--query", "palette"), '["#143cdc","#c81e28"]'),
        (("--template", "{shortId} {palette.0}"), "aB3dE5fG7h01 #143cdc"),
        (("--fields", "uuid,palette"), UUID.format(1) + '\t["#143cdc","#c81e28"]'),
    ],
)
def test_output_options_select_the_printed_value(shell: Shell, words: tuple[str, ...], printed: str) -> None:
    assert shell("import", URL, *words).out == printed + "\n"


def test_last_is_the_imported_file(api: FakeApi, shell: Shell) -> None:
    shell("import", URL)
    api.on("GET", f"/files/{UUID.format(1)}", {"uuid": UUID.format(1), "originalName": "design.pdf"})
    assert shell("show", "@last", "--fields", "originalName").out == "design.pdf\n"


def test_open_opens_the_link_in_a_browser(shell: Shell) -> None:
    shell.tty = True
    assert shell("import", URL, "--open", env={"DISPLAY": ":0"}).code == 0
    assert shell.opened == [LINK]


def test_a_terminal_shows_that_the_server_downloads_the_document(shell: Shell) -> None:
    shell.tty = True
    assert "the server downloads the PDF" in shell("import", URL).err


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("http://designs.example/a.pdf",),
        ("designs.example/a.pdf",),
        ("deck.pdf",),
        ("https://me:pw@designs.example/a.pdf",),
        ("https://designs.example/a b.pdf",),
        (URL, URL),
        (URL, "--print", "link"),
    ],
)
def test_an_invalid_command_line_exits_with_2_before_any_request(
    api: FakeApi, shell: Shell, words: tuple[str, ...]
) -> None:
    done = shell("import", *words)
    assert (done.code, done.out) == (2, "")
    assert api.requests == []


# --- error responses -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "code", "exit_code", "sent"),
    [
        (400, "bad_request", 9, 1),
        (401, "unauthorized", 4, 1),
        (403, "forbidden", 5, 1),
        (403, "insufficient_scope", 5, 1),
        (409, "conflict", 7, 3),
        (413, "payload_too_large", 9, 1),
        (500, "internal", 11, 1),
        (502, "bad_gateway", 11, 2),
        (503, "unavailable", 11, 4),
    ],
)
def test_an_error_response_has_its_exit_code_after_sensible_retries(
    api: FakeApi, shell: Shell, status: int, code: str, exit_code: int, sent: int
) -> None:
    """409 ("changed mid-replace; retry") is retried twice, 502 once."""
    api.on("POST", PATH, problem(status, code))
    done = shell("import", URL, "--json")
    assert (done.code, done.out, done.error["code"]) == (exit_code, "", code)
    assert len(api.list_requests("POST", PATH)) == sent


@pytest.mark.parametrize("status", [409, 502])
def test_retries_0_sends_one_request(api: FakeApi, shell: Shell, status: int) -> None:
    api.on("POST", PATH, problem(status, "x"))
    shell("import", URL, "--retries", "0")
    assert len(api.list_requests("POST", PATH)) == 1


@pytest.mark.parametrize("status", [409, 502])
def test_a_retry_that_succeeds_is_a_success(api: FakeApi, shell: Shell, time: FakeTime, status: int) -> None:
    api.on("POST", PATH, problem(status, "x"), RESULT)
    done = shell("import", URL)
    assert (done.code, done.out) == (0, f"{LINK}\n")
    assert len(time.waits) == 1


def test_the_file_limit_of_the_plan_exits_with_6(api: FakeApi, shell: Shell) -> None:
    api.on("POST", PATH, problem(403, "forbidden"))
    api.on("GET", "/user", {"tier": "free", "limits": {"maxActiveFiles": 1}})
    api.files = [{"uuid": UUID.format(2)}]
    assert shell("import", URL).code == 6


@pytest.mark.parametrize(
    ("detail", "ends"),
    [
        ("The account's 3 file slots of the account are in use.", 6),
        ("The file limit of the plan is reached.", 6),
        ("The design takes no updates.", 5),
        ("Imports from this host are not allowed.", 5),
    ],
)
def test_with_design_tokens_the_detail_of_the_error_identifies_the_file_limit(
    api: FakeApi, shell: Shell, tmp_path: Path, detail: str, ends: int
) -> None:
    api.on("POST", PATH, problem(403, "forbidden", detail))
    api.on("GET", "/user", {"tier": "free", "limits": {"maxActiveFiles": 1}})
    api.files = [{"uuid": UUID.format(2)}]
    (tmp_path / "t.jwt").write_text("eyJh.eyJz.c2ln")
    token = str(tmp_path / "t.jwt")
    assert shell("import", URL, "--design-user-token-file", token, "--design-token-file", token).code == ends


@pytest.mark.parametrize(
    "lost", [FakeResponse(connection_action="drop"), problem(504, "x"), FakeResponse(b"<html>", 200)]
)
def test_a_lost_response_exits_with_14_and_is_not_retried(api: FakeApi, shell: Shell, lost: FakeResponse) -> None:
    """The server may still be downloading, so a second import could create a second file."""
    api.on("POST", PATH, lost)
    done = shell("import", URL, "--json")
    assert (done.code, done.out) == (14, "")
    assert "before you try again" in done.error["hint"]
    assert len(api.list_requests("POST", PATH)) == 1


# --- a real server ---------------------------------------------------------------------------------------------------


@pytest.fixture
def source(tmp_path: Path) -> Iterator[ImportSource]:
    """Yield a host that serves a document with an image."""
    with open_source(make_certificate(tmp_path)) as running:
        running.respond = http_response(picture_pdf([make_stripes((RED, 30), (BLUE, 70))], [300]))
        yield running


@pytest.fixture
def world(make: Callable[..., World], source: ImportSource, tmp_path: Path) -> World:
    """Create an instance whose operator has allowed the source."""
    world = make(import_hosts=(source.host,), ca_bundle=tmp_path / "cert.pem")
    world.rt.outbound.resolve = lambda host: [ipaddress.ip_address("127.0.0.1")]
    return world


def test_a_real_server_imports_from_a_real_host(
    shell_for: Callable[[Person], Shell], world: World, source: ImportSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "PALETTE_BUDGET_S", 10.0)  # on a busy machine colors are omitted
    shell = shell_for(world.pia)
    done = shell("import", source.url(), "--name", "Q3.pdf", "--json")
    assert done.code == 0, done.err
    assert done.json["palette"] == PALETTE
    assert shell("show", "@last", "--fields", "originalName").out == "Q3.pdf\n"
    refused = shell("import", "https://elsewhere.example/a.pdf", "--json")
    assert (refused.code, refused.error["status"]) == (5, 403)
    assert "DOCSHARE_IMPORT_HOSTS" in refused.error["hint"]
