"""``docshare design`` and the design tokens of ``docshare import``, against a real server and a real design tool."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.outside.design_tool import DesignTool, open_design_tool
from tests.support.outside.fake_api import FakeApi, FakeResponse, FakeTime, problem
from tests.support.outside.import_source import make_certificate
from tests.support.people.cast import Person, World
from tests.support.servers.in_process_server import serve_world
from tests.support.shell import CommandResult, Shell

URL = "https://designs.example/x.pdf"


@dataclass
class DesignShell:
    """The shell of Ada: no credential of the server, and files with her tokens."""

    studio: DesignTool
    shell: Shell
    folder: Path

    def write_token(self, name: str, token: str) -> str:
        path = self.folder / name
        path.write_text(token + "\n")
        return str(path)

    @property
    def user_token_option(self) -> str:
        return self.write_token("user.jwt", self.studio.make_user_token())

    @property
    def design_token_option(self) -> str:
        return self.write_token("poster.jwt", self.studio.make_design_token())

    def publish(self, *words: str) -> CommandResult:
        """Publish the poster."""
        line = ("design", "import", self.studio.source.url(), "--jwt-file", self.user_token_option)
        return self.shell(*line, "--design-token-file", self.design_token_option, *words)

    def status(self, *words: str) -> CommandResult:
        return self.shell(
            "design",
            "status",
            "--jwt-file",
            self.user_token_option,
            "--design-token-file",
            self.design_token_option,
            *words,
        )

    def import_poster(self, person: Person, *words: str) -> CommandResult:
        """Import the poster into an account."""
        tokens = ("--design-user-token-file", self.user_token_option, "--design-token-file", self.design_token_option)
        env = {"DOCSHARE_TOKEN": person.key}
        return self.shell("import", self.studio.source.url(), *tokens, *words, env=env)


@pytest.fixture
def design_shell(
    make: Callable[..., World], tmp_path: Path, time: FakeTime, monkeypatch: pytest.MonkeyPatch
) -> Iterator[DesignShell]:
    # Tokens are not verified if the keys come later, and a busy machine may need longer than that.
    monkeypatch.setattr("docshare.server.outbound.jwts._DEADLINE_S", 60.0)
    with open_design_tool(make_certificate(tmp_path), make) as studio, serve_world(studio.world) as url:
        shell = Shell(tmp_path / "home", url, time)
        del shell.env["DOCSHARE_TOKEN"]
        yield DesignShell(studio, shell, tmp_path)


@pytest.fixture
def tokens(tmp_path: Path) -> list[str]:
    """Return the options that name both tokens, for a fake server."""
    for name in ("user.jwt", "x.jwt"):
        (tmp_path / name).write_text("a.b.c")
    return ["--jwt-file", str(tmp_path / "user.jwt"), "--design-token-file", str(tmp_path / "x.jwt")]


# --- design import ---------------------------------------------------------------------------------------------------


def test_a_pipe_gets_the_link_and_both_tokens(design_shell: DesignShell) -> None:
    done = design_shell.publish()
    assert done.code == 0, done.err
    told = dict(line.split("\t") for line in done.lines)
    assert list(told)[:3] == ["shareUrl", "claimToken", "manageToken"]
    assert (told["claimToken"][:6], told["manageToken"][:6]) == ("ds_ct_", "ds_mt_")


def test_json_is_the_response_and_publishing_again_returns_the_same_link(design_shell: DesignShell) -> None:
    first = design_shell.publish("--json", "--filename", "Poster.pdf").json
    assert list(first) == [
        "uuid", "shortId", "shareUrl", "qrUrl", "claimToken", "manageToken", "republished", "contentVersion",
    ]  # fmt: skip
    again = design_shell.publish("--json").json
    assert (again["shareUrl"], again["republished"], again["contentVersion"]) == (first["shareUrl"], True, 2)


def test_tokens_can_be_written_to_a_file_instead_of_stdout(design_shell: DesignShell, tmp_path: Path) -> None:
    kept = tmp_path / "tokens.json"
    done = design_shell.publish("--tokens-out", str(kept))
    assert done.code == 0, done.err
    assert "ds_" not in done.out + done.err
    assert kept.stat().st_mode & 0o777 == 0o600
    assert set(json.loads(kept.read_text())) == {"claimToken", "manageToken"}
    again = design_shell.publish("--tokens-out", str(kept))
    assert (again.code, again.out) == (2, "")


def test_a_rejected_design_leaves_no_token_file(design_shell: DesignShell, tmp_path: Path) -> None:
    made = design_shell.publish("--json").json
    design_shell.studio.claim(design_shell.studio.world.fay, made)
    done = design_shell.publish("--tokens-out", str(tmp_path / "tokens.json"))
    assert done.code == 5
    assert "/api/v1/files/import" in done.err
    assert not (tmp_path / "tokens.json").exists()


def test_a_terminal_shows_the_purpose_of_the_tokens(design_shell: DesignShell) -> None:
    design_shell.shell.tty = True
    done = design_shell.publish("--no-color")
    assert "version 1" in done.out
    assert "to claim it: ds_ct_" in done.out
    assert "same link, version 2" in design_shell.publish("--no-color").out


def test_the_user_token_can_be_read_from_the_environment_or_stdin(design_shell: DesignShell) -> None:
    line = (
        "design",
        "import",
        design_shell.studio.source.url(),
        "--design-token-file",
        design_shell.design_token_option,
    )
    token = design_shell.studio.make_user_token()
    assert design_shell.shell(*line, env={"DOCSHARE_DESIGN_JWT": token}).code == 0
    assert design_shell.shell(*line, "--jwt-file", "-", stdin=token.encode()).code == 0


def test_a_forged_token_exits_with_4_and_is_not_printed(design_shell: DesignShell) -> None:
    forged = design_shell.studio.make_user_token(aud="other")
    path = design_shell.write_token("forged.jwt", forged)
    done = design_shell.shell("design", "import", design_shell.studio.source.url(), "--jwt-file", path, "-vv")
    assert (done.code, forged in done.err) == (4, False)


# --- design status ---------------------------------------------------------------------------------------------------


def test_the_status_of_a_design_contains_a_new_claim_token(design_shell: DesignShell, tmp_path: Path) -> None:
    made = design_shell.publish("--json").json
    told = design_shell.status("--json").json
    assert (told["claimed"], told["shareUrl"], told["viewCount"]) == (False, made["shareUrl"], 0)
    path = design_shell.write_token("claim.txt", told["claimToken"])
    env = {"DOCSHARE_TOKEN": design_shell.studio.world.fay.key}
    assert design_shell.shell("claim", "--token-file", path, env=env).code == 0
    assert "claimToken" not in design_shell.status("--json").json


def test_an_access_token_lets_the_status_show_the_owner(design_shell: DesignShell) -> None:
    design_shell.studio.claim(design_shell.studio.world.fay, design_shell.publish("--json").json)
    key = design_shell.write_token("key.txt", design_shell.studio.world.fay.key)
    told = design_shell.status("--access-token-file", key, "--json").json
    assert (told["connectedAccountIsOwner"], told["viewCount"]) == (True, 0)
    bad = design_shell.write_token("bad.txt", "ds_live_nobody")
    assert design_shell.status("--access-token-file", bad).code == 4


def test_a_design_without_a_link_also_has_a_status(design_shell: DesignShell) -> None:
    done = design_shell.status("--json")
    assert (done.code, done.json) == (0, {"claimed": False, "publishedByOther": False})
    design_shell.shell.tty = True
    assert design_shell.status().code == 0


# --- import with design tokens ---------------------------------------------------------------------------------------


def test_import_with_both_tokens_publishes_to_the_same_link(design_shell: DesignShell) -> None:
    pia = design_shell.studio.world.pia
    first = design_shell.import_poster(pia, "--json").json
    again = design_shell.import_poster(pia, "--json").json
    assert (again["uuid"], again["republished"], again["contentVersion"]) == (first["uuid"], True, 2)
    design_shell.shell.tty = True
    assert "version 3 of the same link" in design_shell.import_poster(pia, "--no-color").out


def test_tokens_that_cannot_be_verified_cause_a_warning(design_shell: DesignShell) -> None:
    design_shell.studio.keys.respond = lambda sock: None
    done = design_shell.import_poster(design_shell.studio.world.pia)
    assert done.code == 0
    assert "could not verify the design-tool tokens" in done.err


# --- invalid command lines and errors --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ("design", "import", URL),
        ("design", "import", "http://designs.example/x.pdf", "--jwt-file", "{file}"),
        ("design", "import", URL, "--jwt-file", "{missing}"),
        ("design", "import", URL, "--jwt-file", "{empty}"),
        ("design", "import", URL, "--jwt-file", "-", "--design-token-file", "-"),
        ("design", "status", "--jwt-file", "{file}"),
        ("design", "status", "--design-token-file", "{file}"),
        ("import", URL, "--design-token-file", "{file}"),
        ("import", URL, "--design-user-token-file", "{file}"),
        ("import", URL, "--design-user-token-file", "-", "--design-token-file", "-"),
    ],
)
def test_an_invalid_command_line_exits_with_2_before_any_request(
    api: FakeApi, shell: Shell, tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "file").write_text("a.b.c")
    (tmp_path / "empty").write_text("\n")
    places = {f"{{{name}}}": str(tmp_path / name) for name in ("file", "empty", "missing")}
    done = shell(*(places.get(word, word) for word in words))
    assert (done.code, done.out) == (2, "")
    assert api.requests == []


@pytest.mark.parametrize("lost", [FakeResponse(connection_action="drop"), problem(504, "x")])
def test_a_lost_response_exits_with_14_and_is_not_retried(
    api: FakeApi, shell: Shell, tokens: list[str], lost: FakeResponse
) -> None:
    api.on("POST", "/design-tool/import", lost)
    done = shell("design", "import", URL, *tokens, "--json")
    assert (done.code, done.out) == (14, "")
    assert "status of the design" in done.error["hint"]
    assert len(api.requests) == 1


@pytest.mark.parametrize(
    ("status", "code", "exit_code", "sent"),
    [
        (403, "forbidden", 5, 1), (409, "conflict", 7, 3), (413, "payload_too_large", 9, 1),
        (502, "bad_gateway", 11, 2), (503, "unavailable", 11, 4),
    ],
)  # fmt: skip
def test_an_error_response_has_its_exit_code(
    api: FakeApi, shell: Shell, tokens: list[str], status: int, code: str, exit_code: int, sent: int
) -> None:
    api.on("POST", "/design-tool/import", problem(status, code))
    assert shell("design", "import", URL, *tokens).code == exit_code
    assert len(api.requests) == sent


def test_the_user_token_is_the_only_credential(api: FakeApi, shell: Shell, tokens: list[str]) -> None:
    api.on("POST", "/design-tool/design/status", {"claimed": False, "publishedByOther": False})
    assert shell("design", "status", *tokens).code == 0
    assert api.requests[0].headers["Authorization"] == "Bearer a.b.c"
