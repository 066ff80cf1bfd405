"""All credentials of an account share ``@last`` and the completion words, and those of different accounts do not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from docshare.cli.local import completion_words
from docshare.cli.local.credentials import Credential, save
from docshare.cli.local.paths import hash_credential
from tests.cli.commands.fakes.uploads import FakeUploads
from tests.support.documents.pdfs import simple_pdf
from tests.support.outside.fake_api import UUID, FakeApi, FakeResponse, FakeTime, problem
from tests.support.people.cast import Person, World
from tests.support.shell import TOKEN, CommandResult, Shell

ALL_SCOPES = ["files:read", "files:write", "readership:read", "webhooks:manage", "profile"]
OTHER_TOKEN = "ds_live_" + "t" * 32
FILE = {"uuid": UUID.format(1), "shortId": "aB3dE5fG7hJ9", "originalName": "deck.pdf"}
ACCOUNT_REQUEST = "GET /api/v1/user"


class Machine:
    """A home directory with a profile for each of several people.

    ``run`` runs a command with a profile, or with a token in the environment; ``upload`` uploads a new document and
    returns its short id.
    """

    def __init__(self, shell: Shell) -> None:
        self.url = shell.env.pop("DOCSHARE_URL")
        del shell.env["DOCSHARE_TOKEN"]
        self.shell = shell
        self._count = 0

    def log_in(self, profile: str, key: str) -> None:
        done = self.shell("auth", "login", "--with-token", "--profile", profile, "--url", self.url, stdin=key.encode())
        assert done.code == 0, done.err

    def run(self, *words: str | Path, profile: str = "", token: str = "") -> CommandResult:
        env = {"DOCSHARE_URL": self.url, "DOCSHARE_TOKEN": token} if token else {"DOCSHARE_PROFILE": profile}
        return self.shell("-v", *words, env=env)

    def upload(self, **credential: str) -> str:
        self._count += 1
        path = self.shell.home / f"report-{self._count}.pdf"
        path.write_bytes(simple_pdf(pages=self._count))
        done = self.run("upload", path, "--print", "id", **credential)
        assert done.code == 0, done.err
        return done.out.strip()

    def find_last(self, **credential: str) -> str | None:
        """Return the short id of ``@last``; None if nothing was uploaded."""
        done = self.run("show", "@last", "--json", **credential)
        assert done.code == (0 if done.out else 2), done.err
        assert done.out or "no file has been uploaded by this account" in done.err
        return str(done.json["shortId"]) if done.out else None

    @property
    def accounts_file(self) -> Path:
        return self.shell.home / "cache" / "complete" / "accounts"


def create_key(person: Person, *scopes: str) -> str:
    """Return a new key of ``person`` with these scopes, or all."""
    answer = person.post("/api/v1/keys", json={"name": "other", "scopes": list(scopes or ALL_SCOPES)})
    assert answer.status_code == 201, answer.text
    return str(answer.get_json()["key"])


def complete_words(shell: Shell, capsys: pytest.CaptureFixture[str], **env: str) -> str:
    assert completion_words.print_completions(["files", ""], {**shell.env, **env}) == 0
    return capsys.readouterr().out


@pytest.fixture
def machine(server_url: str, world: World, time: FakeTime, tmp_path: Path) -> Machine:
    """Create a home directory in which Pia has logged in."""
    made = Machine(Shell(tmp_path / "home", server_url, time))
    made.log_in("pia", world.pia.key)
    return made


# --- on a real server ---------------------------------------------------------------------------------------------


def test_a_token_of_the_environment_finds_the_upload_of_a_login(machine: Machine, world: World) -> None:
    token = create_key(world.pia)
    uploaded = machine.upload(profile="pia")
    first, second = (machine.run("show", "@last", "--json", token=token) for _ in range(2))
    assert (first.json["shortId"], second.json["shortId"]) == (uploaded, uploaded)
    assert (first.err.count(ACCOUNT_REQUEST), second.err.count(ACCOUNT_REQUEST)) == (1, 0)


def test_a_login_finds_the_upload_of_a_token_of_the_environment(machine: Machine, world: World) -> None:
    token = create_key(world.pia)
    uploaded = machine.upload(token=token)
    assert machine.find_last(profile="pia") == uploaded
    assert token not in machine.accounts_file.read_text()
    again = machine.run("upload", machine.shell.home / "report-1.pdf", token=token)
    assert ACCOUNT_REQUEST not in again.err


def test_the_key_of_a_login_needs_no_request_in_the_environment(machine: Machine, world: World) -> None:
    uploaded = machine.upload(profile="pia")
    shown = machine.run("show", "@last", "--json", token=world.pia.key)
    assert (shown.json["shortId"], shown.err.count(ACCOUNT_REQUEST)) == (uploaded, 0)


def test_two_tokens_of_an_account_share_the_last_upload(machine: Machine, world: World) -> None:
    one, two = create_key(world.pia), create_key(world.pia)
    assert machine.find_last(token=one) is None
    first = machine.upload(token=one)
    assert machine.find_last(token=two) == first
    second = machine.upload(token=two)
    assert (machine.find_last(token=one), machine.find_last(profile="pia")) == (second, second)


def test_the_last_upload_is_the_newest_of_all_credentials(machine: Machine, world: World) -> None:
    token = create_key(world.pia)
    machine.upload(profile="pia")
    newer = machine.upload(token=token)
    assert machine.find_last(profile="pia") == newer
    newest = machine.upload(profile="pia")
    assert machine.find_last(token=token) == newest


def test_a_profile_with_an_unchecked_key_shares_the_last_upload(machine: Machine, world: World) -> None:
    add = ("profile", "add", "key", "--url", machine.url, "--with-token")
    assert machine.shell(*add, stdin=create_key(world.pia).encode()).code == 0
    for writer in ("key", "pia"):
        uploaded = machine.upload(profile=writer)
        assert [machine.find_last(profile=reader) for reader in ("key", "pia")] == [uploaded] * 2


def test_accounts_of_a_server_stay_apart(machine: Machine, world: World) -> None:
    machine.log_in("mal", world.mal.key)
    uploaded = machine.upload(profile="pia")
    assert machine.find_last(profile="mal") is None
    assert machine.find_last(token=create_key(world.mal)) is None
    others = machine.upload(token=create_key(world.mal))
    assert (machine.find_last(profile="mal"), machine.find_last(profile="pia")) == (others, uploaded)


def test_a_token_command_has_its_own_last_upload(machine: Machine, world: World) -> None:
    key = machine.shell.home / "key"
    key.write_text(world.pia.key)
    add = ("profile", "add", "vault", "--url", machine.url, "--force", "--token-command")
    assert machine.shell(*add, f"cat {key}").code == 0
    mine = machine.upload(profile="pia")
    assert machine.find_last(profile="vault") is None
    machine.upload(profile="vault")
    key.write_text(world.mal.key)
    other = machine.upload(profile="vault")
    assert (machine.find_last(profile="vault"), machine.find_last(profile="pia")) == (other, mine)
    assert machine.shell(*add, f"echo {world.mal.key}").code == 0
    assert machine.find_last(profile="vault") is None


def test_a_token_that_may_not_see_its_account_has_its_own_last_upload(machine: Machine, world: World) -> None:
    limited = create_key(world.pia, "files:read", "files:write")
    uploaded = machine.upload(profile="pia")
    failed = machine.run("show", "@last", token=limited)
    assert (failed.code, "without the profile scope" in failed.err) == (2, True)
    assert failed.err.count(ACCOUNT_REQUEST) == 1
    own = machine.run("upload", machine.shell.home / "report-1.pdf", "--print", "id", token=limited)
    assert (own.code, own.err.count(ACCOUNT_REQUEST)) == (0, 0)
    assert machine.find_last(token=limited) == own.out.strip()
    assert machine.find_last(profile="pia") == uploaded


def test_a_damaged_file_of_accounts_is_written_again(machine: Machine, world: World) -> None:
    token = create_key(world.pia)
    uploaded = machine.upload(token=token)
    whole = machine.accounts_file.read_text()
    for damaged in (b"\xff\x00\n\t\t\n", whole.encode()[:-20], whole.replace("-", "\t").encode()):
        machine.accounts_file.write_bytes(damaged)
        assert machine.find_last(token=token) == uploaded
    newer = machine.upload(profile="pia")
    for damaged in (b"\xff\n", whole.encode()[:-20]):
        machine.accounts_file.write_bytes(damaged)
        assert machine.find_last(token=token) == newer
    assert machine.accounts_file.read_text(errors="replace").endswith(f"\t{world.pia.uuid}\n")


def test_without_a_cache_directory_a_token_still_finds_the_upload_of_a_login(machine: Machine, world: World) -> None:
    token = create_key(world.pia)
    blocked = machine.shell.home / "file"
    blocked.write_text("")
    machine.shell.env["DOCSHARE_CACHE_DIR"] = str(blocked / "cache")
    uploaded = machine.upload(profile="pia")
    assert machine.find_last(token=token) == uploaded
    own = machine.run("upload", machine.shell.home / "report-1.pdf", "--print", "id", token=token)
    assert (own.code, ACCOUNT_REQUEST in own.err) == (0, False), "nothing is fetched that cannot be stored"


# --- on a server with scripted responses --------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["whoami", "auth status", "doctor --only server", "auth login --with-token"])
def test_a_command_that_shows_the_account_stores_it(
    shell: Shell, api: FakeApi, fake_uploads: FakeUploads, deck: Path, command: str
) -> None:
    api.on("GET", "", {"name": "docshare", "version": "1.2.3"})
    shell(*command.split(), stdin=TOKEN.encode())
    api.requests.clear()
    assert shell("upload", deck).code == 0
    assert [heard.path for heard in api.requests] == ["/files"]


def test_a_failure_to_fetch_the_account_does_not_fail_the_upload(
    shell: Shell, api: FakeApi, fake_uploads: FakeUploads, deck: Path
) -> None:
    api.on("GET", "/user", problem(503, "unavailable"))
    api.on("GET", f"/files/{UUID.format(1)}", FILE)
    done = shell("upload", deck)
    assert (done.code, done.err, len(api.list_requests("GET", "/user"))) == (0, "", 1)
    assert shell("show", "@last").code == 0
    api.on("GET", "/user", {"uuid": UUID.format(9)})
    assert shell("whoami").code == 0
    assert shell("show", "@last", env={"DOCSHARE_TOKEN": OTHER_TOKEN}).code == 0, "it is known by now"


def test_an_account_has_one_last_upload_in_the_file(
    shell: Shell, api: FakeApi, fake_uploads: FakeUploads, deck: Path
) -> None:
    for token in (TOKEN, OTHER_TOKEN, TOKEN):
        assert shell("upload", deck, env={"DOCSHARE_TOKEN": token}).code == 0
    stored = json.loads((shell.home / "state" / "last.json").read_text())
    assert {key: row["uuid"] for key, row in stored.items()} == {f"{api.url} {UUID.format(9)}": UUID.format(3)}


def test_a_file_is_not_guessed_while_the_account_cannot_be_fetched(
    shell: Shell, api: FakeApi, fake_uploads: FakeUploads, deck: Path
) -> None:
    assert shell("upload", deck).code == 0
    api.on("GET", "/user", problem(503, "unavailable"))
    failed = shell("rm", "@last", "--yes", "--retries", "0", env={"DOCSHARE_TOKEN": OTHER_TOKEN})
    assert (failed.code, api.list_requests("DELETE", f"/files/{UUID.format(1)}")) == (11, [])


@pytest.mark.parametrize("account", [{}, {"uuid": "a\tb"}, {"uuid": None}, problem(403, "insufficient_scope")])
def test_a_server_that_reports_no_account_is_asked_once(
    shell: Shell, api: FakeApi, fake_uploads: FakeUploads, deck: Path, account: object
) -> None:
    api.on("GET", "/user", account)
    api.on("GET", f"/files/{UUID.format(1)}", FILE)
    assert shell("upload", deck).code == 0
    assert shell("show", "@last").code == 0
    assert len(api.list_requests("GET", "/user")) == 1


@pytest.mark.parametrize("failure", [problem(403, "forbidden"), problem(404, "not_found"), problem(503, "unavailable")])
def test_a_failure_to_report_the_account_does_not_end_an_upload_and_is_not_remembered(
    shell: Shell, api: FakeApi, fake_uploads: FakeUploads, deck: Path, failure: FakeResponse
) -> None:
    api.on("GET", "/user", failure)
    assert shell("upload", deck).code == 0
    api.on("GET", "/user", {"uuid": UUID.format(9)})
    assert shell("upload", deck).code == 0
    assert [heard.path for heard in api.requests] == ["/user", "/files"] * 2
    (key,) = json.loads((shell.home / "state" / "last.json").read_text())
    assert key == f"{api.url} {UUID.format(9)}"


def test_an_upload_without_an_account_sends_no_credential(shell: Shell, api: FakeApi, deck: Path) -> None:
    api.on("POST", "/api/files", {"uuid": UUID.format(1), "shareUrl": f"{api.url}/x"})
    assert shell("public", "upload", deck).code == 0
    assert [(heard.path, heard.headers["Authorization"]) for heard in api.requests] == [("/api/files", None)]


def test_completion_offers_the_words_of_the_account_and_sends_nothing(
    shell: Shell, api: FakeApi, capsys: pytest.CaptureFixture[str]
) -> None:
    api.files = [FILE]
    assert shell("ls").code == 0
    assert complete_words(shell, capsys) == "aB3dE5fG7hJ9\tdeck.pdf\n"
    assert complete_words(shell, capsys, DOCSHARE_TOKEN=OTHER_TOKEN) == ""
    assert [heard.path for heard in api.requests] == ["/files"]
    for token in (TOKEN, OTHER_TOKEN):
        assert shell("whoami", env={"DOCSHARE_TOKEN": token}).code == 0
        assert complete_words(shell, capsys, DOCSHARE_TOKEN=token) == "aB3dE5fG7hJ9\tdeck.pdf\n"
    assert len(api.requests) == 3


def test_newer_words_of_the_account_are_kept(shell: Shell, api: FakeApi, capsys: pytest.CaptureFixture[str]) -> None:
    api.files = [{**FILE, "originalName": "old.pdf"}]
    assert shell("ls", env={"DOCSHARE_TOKEN": OTHER_TOKEN}).code == 0
    assert shell("whoami").code == 0
    api.files = [FILE]
    assert shell("ls").code == 0
    assert shell("whoami", env={"DOCSHARE_TOKEN": OTHER_TOKEN}).code == 0
    assert complete_words(shell, capsys, DOCSHARE_TOKEN=OTHER_TOKEN) == "aB3dE5fG7hJ9\tdeck.pdf\n"


def test_a_profile_that_gets_another_login_forgets_the_account_of_the_old_one(shell: Shell, api: FakeApi) -> None:
    del shell.env["DOCSHARE_URL"], shell.env["DOCSHARE_TOKEN"]
    assert shell("profile", "add", "work", "--url", api.url, "--with-token", stdin=TOKEN.encode()).code == 0
    ends = int(shell.time.wall * 1000) + 3_600_000
    save(shell.home / "config", "work", Credential(api.url, "access1", "refresh1", ends, "docshare-cli"))
    assert shell("whoami").code == 0
    known = shell.home / "cache" / "complete" / "accounts"
    assert f"{api.url}\twork\t{UUID.format(9)}\n" in known.read_text()
    assert shell("profile", "add", "work", "--url", api.url, "--with-token", "--force", stdin=b"x" * 20).code == 0
    assert "\twork\t" not in known.read_text()


def test_the_file_of_accounts_does_not_grow_forever(shell: Shell, api: FakeApi) -> None:
    known = shell.home / "cache" / "complete" / "accounts"
    known.parent.mkdir(parents=True)
    known.write_text("".join(f"https://h.example\t{number:016}\t{UUID.format(number)}\n" for number in range(300)))
    assert shell("whoami").code == 0
    lines = known.read_text().splitlines()
    assert (len(lines), lines[-1].startswith(f"{api.url}\t")) == (200, True)
    assert known.stat().st_mode & 0o077 == 0


def test_an_entry_of_an_older_version_is_found_once_the_account_is_known(shell: Shell, api: FakeApi) -> None:
    api.on("GET", f"/files/{UUID.format(1)}", FILE)
    stored = shell.home / "state" / "last.json"
    stored.parent.mkdir()
    stored.write_text(json.dumps({f"{api.url} {hash_credential(TOKEN)}": {"uuid": UUID.format(1)}}))
    assert shell("show", "@last").code == 0
    assert api.list_requests("GET", "/user") == [], "no other credential has uploaded"
    assert shell("whoami").code == 0
    assert shell("show", "@last", env={"DOCSHARE_TOKEN": OTHER_TOKEN}).code == 0
