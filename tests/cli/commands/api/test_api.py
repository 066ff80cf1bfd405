"""``docshare api``: the requests it sends, the responses it prints, and the servers that get the credential."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.documents.pdfs import simple_pdf
from tests.support.outside.fake_api import FakeApi, FakeResponse, FakeTime, fake_api, problem
from tests.support.people.cast import Person, World
from tests.support.shell import TOKEN, Shell

ID = "aB3dE5fG7hJ9"
PDF_TYPE = {"Content-Type": "application/pdf"}
TEXT_TYPE = {"Content-Type": "text/csv"}
FILES = b'[ {"shortId":"aB3dE5fG7hJ9",  "big":12345678901234567890} ]\n'  # not the layout of our programs


@pytest.fixture
def other_api(time: FakeTime) -> Iterator[FakeApi]:
    """Yield another server, which must not see the credential."""
    with fake_api() as other:
        yield other


def write_secret(tmp_path: Path, text: str, name: str = "secret.txt") -> str:
    path = tmp_path / name
    path.write_text(text)
    return str(path)


# --- the destination -------------------------------------------------------------------------------------------------

# the path as typed, the path as requested (below /api/v1, as the fake server reports it)
PATHS = [
    ("/files", "/files"),
    ("files", "/files"),
    (f"/files/{ID}/content", f"/files/{ID}/content"),
    ("/api/v1/files", "/files"),
    ("api/v1/files", "/files"),
    (f"/api/files/{ID}/metadata", f"/api/files/{ID}/metadata"),
    ("/api/webhooks", "/api/webhooks"),
    ("/.well-known/oauth-authorization-server", "/.well-known/oauth-authorization-server"),
    ("/oauth/token", "/oauth/token"),
    ("/oembed", "/oembed"),
    ("/healthz", "/healthz"),
    ("/oembedded", "/oembedded"),
]


@pytest.mark.parametrize(("typed", "asked"), PATHS)
def test_a_path_is_resolved_below_the_api_unless_it_is_another_route_of_the_server(
    api: FakeApi, shell: Shell, typed: str, asked: str
) -> None:
    api.on("GET", asked, {})
    assert shell("api", "GET", typed).code == 0
    assert [heard.path for heard in api.requests] == [asked]


def test_a_path_outside_the_api_is_not_requested_below_it(api: FakeApi, shell: Shell) -> None:
    shell("api", "GET", "/oembed", "--url", api.url + "/api/v1")  # so the fake server reports the path below the base
    assert [heard.path for heard in api.requests] == ["/oembed"]


def test_a_full_url_of_the_current_server_is_accepted(api: FakeApi, shell: Shell) -> None:
    assert shell("api", "GET", f"{api.url}/api/v1/files?x=1").code == 0
    assert (api.requests[0].path, api.requests[0].query) == ("/files", {"x": "1"})
    assert api.requests[0].headers["Authorization"] == f"Bearer {TOKEN}"


def test_scheme_and_host_of_a_url_may_be_uppercase(api: FakeApi, shell: Shell) -> None:
    assert shell("api", "GET", f"{api.url.upper()}/api/v1/files").code == 0
    assert api.requests[0].headers["Authorization"] == f"Bearer {TOKEN}"


def test_the_credential_is_not_sent_to_another_server(api: FakeApi, other_api: FakeApi, shell: Shell) -> None:
    done = shell("api", "GET", f"{other_api.url}/api/v1/files")
    assert (done.code, done.out, other_api.requests, api.requests) == (2, "", [], [])
    assert "--no-auth" in done.err


def test_a_url_outside_the_base_url_counts_as_another_server(api: FakeApi, shell: Shell) -> None:
    for url in (f"{api.url}/api/v1/files", f"{api.url}/docs2/api/v1/files"):
        assert shell("api", "GET", url, "--url", f"{api.url}/docs").code == 2
    assert api.requests == []


def test_no_auth_allows_requests_to_any_server(other_api: FakeApi, shell: Shell) -> None:
    assert shell("api", "GET", f"{other_api.url}/api/v1/files", "--no-auth").code == 0
    assert other_api.requests[0].headers["Authorization"] is None


def test_no_auth_neither_needs_nor_sends_a_credential(api: FakeApi, shell: Shell) -> None:
    assert shell("api", "GET", "/files", "--no-auth").code == 0
    assert api.requests[0].headers["Authorization"] is None
    del shell.env["DOCSHARE_TOKEN"]
    assert shell("api", "GET", "/files", "--no-auth").code == 0
    assert shell("api", "GET", "/files").code == 4


@pytest.mark.parametrize(
    "line",
    [
        ["files", "GET"],
        ["FETCH", "/files"],
        ["GET", "C:/Program Files/Git/files"],
        ["GET", "/fi les"],
        ["GET", "/files#top"],
        ["GET", "ftp://127.0.0.1/files"],
        ["GET", "/files", "-f", "limit"],
        ["GET", "/files", "-f", "limit=3", "-F", "limit=4"],
        ["GET", "/files?limit=3", "-f", "limit=4"],
        ["GET", "/files", "-F", "x:=[1]"],
        ["PUT", "/files", "-F", "x:={"],
        ["PUT", "/files", "-f", "a=1", "-f", "a.b=2"],
        ["PUT", "/files", "-F", "x=@/no/such/file"],
        ["PUT", "/files", "--input", "/no/such/file"],
        ["POST", "/files", "--form", "file=@/no/such/file"],
        ["POST", "/files", "--form", "file=@a", "--form", "more=@b"],
        ["POST", "/files", "--form", "file=@-"],
        ["POST", "/files", "--form", "a=1", "--input", "-"],
        ["POST", "/files", "-H", "no header"],
        ["POST", "/files", "-H", "X-Two: 1\nX-Three: 2"],
        ["POST", "/files", "-H", "X-Two: 1\rX-Three: 2"],
        ["POST", "/files", "-H", "X-Price: 3 €"],
        ["POST", "/files", "-H", "Content-Length: 5"],
        ["GET", "/files?limit=3&limit=4"],
        ["POST", "/files", "--input", "-", "-F", "x=@-"],
        ["POST", "/files", "--form", "a=<-", "-H", "Cookie: @-"],
        ["GET", "/files", "--error-body", "nowhere"],
        ["POST", "/events", "--paginate"],
        ["GET", "/files", "--paginate"],
        ["GET", "/events", "--paginate", "-f", "limit=3"],
    ],
    ids=" ".join,
)
def test_an_invalid_command_line_exits_with_2_and_sends_nothing(api: FakeApi, shell: Shell, line: list[str]) -> None:
    done = shell("api", *line)
    assert (done.code, done.out, api.requests) == (2, "", [])


# --- the request -----------------------------------------------------------------------------------------------------


def test_fields_of_a_get_request_become_query_parameters(api: FakeApi, shell: Shell) -> None:
    shell("api", "GET", "/events?type=download", "-f", "since=0", "-F", "limit=5", "-F", "all=true")
    assert api.requests[0].query == {"type": "download", "since": "0", "limit": "5", "all": "true"}
    assert api.requests[0].body == b""


def test_fields_of_a_put_request_become_a_json_object(api: FakeApi, shell: Shell, tmp_path: Path) -> None:
    api.on("PUT", f"/files/{ID}/settings", FakeResponse(b"", 200))
    note = write_secret(tmp_path, "two\nlines\n")
    words = ["-f", "name=3", "-F", "viewLimit=3", "-F", "on=true", "-F", "off=null", "-F", "share=0.5", "-F", "t=007"]
    more = ["-F", "viewerSettings.flip.speedMs=450", "-F", 'gateFields:=[{"id": 1}]', "-F", f"note=@{note}"]
    done = shell("api", "put", f"/files/{ID}/settings", *words, *more)
    assert (done.code, done.out) == (0, "")
    assert json.loads(api.requests[0].body) == {
        "name": "3", "viewLimit": 3, "on": True, "off": None, "share": 0.5, "t": "007",
        "viewerSettings": {"flip": {"speedMs": 450}}, "gateFields": [{"id": 1}], "note": "two\nlines",
    }  # fmt: skip
    assert api.requests[0].headers["Content-Type"] == "application/json"


def test_an_input_body_is_sent_byte_for_byte_and_fields_become_query_parameters(api: FakeApi, shell: Shell) -> None:
    api.on("PUT", "/files/x/settings", {})
    raw = b'{"viewLimit" : 3}\r\n'
    shell("api", "PUT", "/files/x/settings", "--input", "-", "-f", "dry=1", stdin=raw)
    assert (api.requests[0].body, api.requests[0].query) == (raw, {"dry": "1"})
    shell("api", "PUT", "/files/x/settings", "--input", "-", "-H", "Content-Type: text/x-odd", stdin=raw)
    assert api.requests[1].headers.get_all("Content-Type") == ["text/x-odd"]


def test_a_form_with_a_file_is_sent_as_multipart(api: FakeApi, shell: Shell, deck: Path) -> None:
    api.on("POST", f"/files/{ID}/assets", {"assetId": 1})
    assert shell("api", "POST", f"/files/{ID}/assets", "--form", f"logo=@{deck}", "--form", "kind=logo").code == 0
    body = api.requests[0].body
    assert b'name="kind"\r\n\r\nlogo\r\n' in body
    assert b'name="logo"; filename="deck.pdf"' in body
    assert deck.read_bytes() in body


def test_a_form_without_a_file_is_urlencoded(api: FakeApi, shell: Shell, tmp_path: Path) -> None:
    api.on("POST", "/oauth/revoke", {})
    shell(
        "api",
        "POST",
        "/oauth/revoke",
        "--form",
        f"token=<{write_secret(tmp_path, 'rt_1&2')}",
        "--form",
        "client_id=a b",
    )
    assert api.requests[0].body == b"token=rt_1%262&client_id=a+b"
    assert api.requests[0].headers["Content-Type"] == "application/x-www-form-urlencoded"


def test_custom_headers_can_send_a_browser_session(api: FakeApi, shell: Shell, tmp_path: Path) -> None:
    """POST /api/webhooks requires a browser session: a cookie and its CSRF token, but no credential."""
    api.on("POST", "/api/webhooks", FakeResponse({"uuid": "x"}, 201))
    cookie = write_secret(tmp_path, "docshare_session=abcdefgh\n")
    line = ["-H", f"Cookie: @{cookie}", "-H", "X-Request-Id: 7", "-f", "url=https://hooks.example.com"]
    assert shell("api", "POST", "/api/webhooks", "--no-auth", *line).json == {"uuid": "x"}
    heard = api.requests[0].headers
    assert (heard["Cookie"], heard["X-Request-Id"], heard["Authorization"]) == ("docshare_session=abcdefgh", "7", None)


@pytest.mark.parametrize(
    "line",
    [
        ["-f", "password=hunter22"],
        ["-F", "password=hunter22"],
        ["-F", 'password:="hunter22"'],
        ["-F", 'signIn:={"steps": [{"password": "hunter22"}]}'],
        ["-F", "password=22222222"],
        ["-F", "claimToken=hunter22"],
        ["--form", "client_secret=hunter22"],
        ["-H", "Cookie: hunter22"],
        ["-H", "Authorization: Bearer hunter22"],
        ["-H", "authorization: @token.txt"],
    ],
    ids=" ".join,
)
def test_a_secret_on_the_command_line_is_rejected(api: FakeApi, shell: Shell, line: list[str]) -> None:
    done = shell("api", "POST", "/files/claim", *line)
    assert (done.code, done.out, api.requests, "hunter22" in done.err) == (2, "", [], False)
    assert "hint:" in done.err


def test_a_secret_in_a_url_is_rejected(api: FakeApi, shell: Shell) -> None:
    done = shell("api", "GET", "/files?token=hunter22", "-n")
    assert (done.code, done.out, api.requests, "hunter22" in done.err) == (2, "", [], False)


def test_a_header_file_with_several_lines_is_rejected(api: FakeApi, shell: Shell, tmp_path: Path) -> None:
    done = shell("api", "GET", "/files", "-H", f"X-Two: @{write_secret(tmp_path, 'a' + chr(10) + 'X-Three: b')}")
    assert (done.code, done.out, api.requests) == (2, "", [])


def test_a_password_from_a_file_is_sent_and_never_printed(api: FakeApi, shell: Shell, tmp_path: Path) -> None:
    api.on("PUT", "/files/x/settings", problem(422, "unprocessable", "hunter22 is too short"))
    done = shell("api", "PUT", "/files/x/settings", "-F", f"password=@{write_secret(tmp_path, 'hunter22')}", "-vv")
    assert json.loads(api.requests[0].body) == {"password": "hunter22"}
    assert (done.code, "hunter22" in done.err) == (9, False)


def test_an_empty_password_clears_it(api: FakeApi, shell: Shell) -> None:
    api.on("PUT", "/files/x/settings", FakeResponse(b"", 200))
    assert shell("api", "PUT", "/files/x/settings", "-f", "password=").code == 0
    assert json.loads(api.requests[0].body) == {"password": ""}


def test_a_dry_run_prints_the_request_without_secrets_and_sends_nothing(
    api: FakeApi, shell: Shell, tmp_path: Path, deck: Path
) -> None:
    word = write_secret(tmp_path, "hunter22")
    line = ["-F", f"password=@{word}", "-F", "viewLimit=3", "-n"]
    assert shell("api", "PUT", "files/x/settings", *line).out == (
        'PUT\t/api/v1/files/x/settings\t{"password": "***", "viewLimit": 3}\n'
    )
    body = b'{"deep": [{"designToken": "hunter22"}]}'
    done = shell("api", "POST", "/files", "--input", "-", "-f", "a=b c", "-n", stdin=body)
    assert done.out == 'POST\t/api/v1/files?a=b+c\t{"deep": [{"designToken": "***"}]}\n'
    assert shell("api", "POST", "/files", "--input", "-", "-n", stdin=b"\xff").out == "POST\t/api/v1/files\t(1 bytes)\n"
    done = shell("api", "POST", "/files", "--form", f"file=@{deck}", "--form", f"code=<{word}", "-n", "--json")
    assert done.json == [{"method": "POST", "path": "/api/v1/files", "body": f"code=***&file=@{deck}"}]
    assert api.requests == []


# --- the response ----------------------------------------------------------------------------------------------------


def test_a_pipe_gets_the_body_byte_for_byte(api: FakeApi, shell: Shell) -> None:
    api.on("GET", "/files", FakeResponse(FILES))
    for line in ([], ["--json"], ["-o", "-"]):
        assert shell("api", "GET", "/files", *line).out.encode() == FILES
    assert shell("api", "GET", "/files", env={"DOCSHARE_FORMAT": "csv"}).out.encode() == FILES


def test_the_output_file_gets_the_bytes_and_is_not_overwritten(api: FakeApi, shell: Shell, tmp_path: Path) -> None:
    api.on("GET", "/files/x/content", FakeResponse(b"%PDF-\xff\x00", 200, PDF_TYPE))
    target = tmp_path / "out.pdf"
    assert (shell("api", "GET", "/files/x/content", "-o", target).code, target.read_bytes()) == (0, b"%PDF-\xff\x00")
    target.write_bytes(b"mine")
    assert (shell("api", "GET", "/files/x/content", "-o", target).code, target.read_bytes()) == (2, b"mine")
    assert len(api.requests) == 1
    assert shell("api", "GET", "/files/x/content", "-o", target, "--force").code == 0
    assert target.read_bytes() == b"%PDF-\xff\x00"


def test_a_terminal_gets_json_indented_and_escaped(api: FakeApi, shell: Shell) -> None:
    api.on("GET", "/files", FakeResponse('[{"originalName": "a\u202eb"}]'.encode()))
    shell.tty = True
    assert shell("api", "GET", "/files").out == '[\n  {\n    "originalName": "a\\u202eb"\n  }\n]\n'


def test_a_terminal_gets_escaped_text_and_no_binary_data(api: FakeApi, shell: Shell) -> None:
    api.on("GET", "/files/x/annotations", FakeResponse(b"a,b\n\x1b[2J,1\n", 200, TEXT_TYPE))
    api.on("GET", "/files/x/content", FakeResponse(b"%PDF-\x1b]0;x\x07", 200, PDF_TYPE))
    shell.tty = True
    assert shell("api", "GET", "/files/x/annotations").out == "a,b\n\\x1b[2J,1\n"
    done = shell("api", "GET", "/files/x/content")
    assert (done.code, done.out) == (2, "")
    assert "-o" in done.err


def test_a_body_that_is_not_valid_json_is_printed_as_text(api: FakeApi, shell: Shell) -> None:
    api.on("GET", "/files", FakeResponse(b"{oops"))
    shell.tty = True
    assert shell("api", "GET", "/files").out == "{oops\n"


def test_options_that_filter_json_apply_to_the_body(api: FakeApi, shell: Shell) -> None:
    api.on("GET", "/files", [{"shortId": "a", "size": 1, "in": {"x": 2}}, {"shortId": "b", "size": 3}])
    assert shell("api", "GET", "/files", "--query", "[].size").json == [1, 3]
    assert shell("api", "GET", "/files", "--fields", "shortId,in.x").out == "a\t2\nb\t\n"
    assert shell("api", "GET", "/files", "--template", "{shortId}!").out == "a!\nb!\n"
    assert shell("api", "GET", "/files", "--format", "jsonl", "--fields", "size").rows == [{"size": 1}, {"size": 3}]
    assert shell("api", "GET", "/files", "--format", "csv").out == 'shortId,size,in\na,1,"{""x"":2}"\nb,3,\n'
    api.on("GET", "/files", FakeResponse(b"a,b", 200, TEXT_TYPE))
    done = shell("api", "GET", "/files", "--query", "[]")
    assert (done.code, done.out, "text/csv" in done.err) == (2, "", True)


def test_status_and_headers_go_to_stderr(api: FakeApi, shell: Shell) -> None:
    api.on("POST", "/webhooks", FakeResponse(b"{}", 201, {"X-Odd": "\x1b[1m", "Set-Cookie": "a=hunter22"}))
    done = shell("api", "POST", "/webhooks", "-i", "-f", "url=x")
    assert (done.out, done.err.splitlines()[0]) == ("{}", "HTTP 201 Created")
    assert "X-Odd: \\x1b[1m" in done.err
    assert "hunter22" not in done.err


def test_a_response_without_a_body_prints_nothing(api: FakeApi, shell: Shell) -> None:
    api.on("DELETE", "/webhooks/x", FakeResponse(b"", 204))
    for tty in (False, True):
        shell.tty = tty
        done = shell("api", "DELETE", "/webhooks/x")
        assert (done.code, done.out) == (0, "")


# --- a real server ---------------------------------------------------------------------------------------------------


def test_a_document_can_be_uploaded_and_downloaded_on_a_real_server(
    server_url: str, shell_for: Callable[[Person], Shell], world: World, tmp_path: Path
) -> None:
    shell, report, back = shell_for(world.pia), tmp_path / "report.pdf", tmp_path / "back.pdf"
    report.write_bytes(simple_pdf(pages=3))
    made = shell("api", "POST", "/files", "--form", f"file=@{report}").json
    assert shell("api", "PUT", f"/files/{made['shortId']}/settings", "-F", "viewLimit=3").code == 0
    assert shell("api", "GET", f"/files/{made['shortId']}", "--query", "viewLimit").json == 3
    assert shell("api", "GET", f"{server_url}/api/v1/files/{made['uuid']}/content", "-o", back).code == 0
    assert back.read_bytes() == report.read_bytes()
    done = shell("api", "POST", "/api/webhooks", "-f", "url=x")  # the session route accepts an API key too
    assert (done.code, "events must be" in done.err) == (9, True)
