"""``docshare doctor``, group "instance": what a local server reports of itself, and what doctor finds without it."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import ip_network
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from docshare.contract.findings import run_check
from tests.support.outside.fake_api import FakeTime
from tests.support.outside.mail_server import FakeMailServer
from tests.support.servers.reverse_proxy import reverse_proxy
from tests.support.shell import CommandResult, Shell

if TYPE_CHECKING:
    from tests.support.people.cast import World

MINUTE = 60_000
Doctor = Callable[..., dict[str, dict[str, Any]]]


def group_rows_by_check(ended: CommandResult) -> dict[str, dict[str, Any]]:
    return {row["check"].removeprefix("instance."): row for row in ended.json}


@pytest.fixture
def doctor(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Doctor:
    """Return a function that checks a world and groups the rows by check. LibreOffice is not installed there."""
    monkeypatch.setenv("PATH", "/nonexistent")
    for limit in ("diagnosis._CHECK_TIMEOUT_S", "environment_checks._TIMEOUT_S"):  # a busy machine may need longer
        monkeypatch.setattr(f"docshare.server.services.operations.{limit}", 60.0)

    def run_checks(world: World, *args: str) -> dict[str, dict[str, Any]]:
        from tests.support.servers.data_dir_owner import own_data_dir

        with own_data_dir(world):
            return group_rows_by_check(run_doctor(shell, world.rt.config.data_dir, *args))

    return run_checks


def run_doctor(shell: Shell, folder: Path, *args: str) -> CommandResult:
    return shell("doctor", "--only", "instance", "--data", folder, "--json", *args)


def restrict_permissions(folder: Path) -> None:
    """Make the data private, as the server does when it creates the directory."""
    folder.chmod(0o700)
    for path in folder.iterdir():
        path.chmod(0o700 if path.is_dir() else 0o600)


def test_a_healthy_instance_passes_every_check(doctor: Doctor, make: Callable[..., World]) -> None:
    world = make()
    world.pia.upload()
    restrict_permissions(world.rt.config.data_dir)
    world.rt.heartbeats.update(jobs=world.clock(), dispatcher=world.clock())
    rows = doctor(world)
    assert {name: row["ok"] for name, row in rows.items()} == {
        "process": True, "disk": True, "permissions": True, "database": True, "schema": True, "wal": True, "jobs": True,
        "master-key": True, "deliveries": True, "owner": True, "outbox": True, "smtp": None, "confinement": True,
        "converter": False, "egress": None, "design-keys": None, "countries": None, "proxies": None,
    }  # fmt: skip
    assert rows["converter"]["level"] == "warning"
    assert "libreoffice" in rows["converter"]["fix"]
    assert rows["schema"]["detail"] == "schema step 18 of 18"


@pytest.mark.parametrize(("mail_url", "ok"), [(None, None), ("smtp://127.0.0.1:9", False)])
def test_an_owner_whom_no_mail_reaches_is_reported(
    doctor: Doctor, make: Callable[..., World], mail_url: str | None, ok: bool | None
) -> None:
    from docshare.server.services.accounts import accounts

    world = make(smtp_url=mail_url)
    accounts.set_email(world.rt, accounts.get_owner(world.rt).email, "owner@localhost")
    row = doctor(world)["owner"]
    assert row["ok"] is ok
    if ok is False:
        assert "docshare admin account set-email owner@localhost" in row["fix"]


def test_data_that_others_can_read_is_reported_with_the_command_that_fixes_it(
    doctor: Doctor, make: Callable[..., World]
) -> None:
    world = make()
    folder = world.rt.config.data_dir
    restrict_permissions(folder)
    (folder / "docshare.db").chmod(0o640)
    row = doctor(world)["permissions"]
    assert (row["ok"], row["level"], row["fix"]) == (False, "error", f"chmod 600 {folder / 'docshare.db'}")
    folder.chmod(0o755)
    assert f"chmod 700 {folder}" in doctor(world)["permissions"]["fix"]


def test_a_key_that_the_next_start_would_miss_is_reported(doctor: Doctor, make: Callable[..., World]) -> None:
    """The running server has it in memory, so nothing else shows that it is missing."""
    from docshare.server.services.operations import encryption

    world = make()
    encryption.require_master_key(world.rt)  # as a start does
    world.pia.upload()
    path = world.rt.config.vault_path
    key = path.read_bytes()
    path.unlink()
    row = doctor(world)["master-key"]
    assert (row["level"], row["detail"].split(",")[0]) == ("error", f"{path} is missing")
    assert not path.exists()
    path.write_bytes(bytes(32))
    row = doctor(world)["master-key"]
    assert (row["level"], row["detail"].split(",")[0]) == ("error", "vault.key is not the master key of this database")
    path.write_bytes(key)
    assert doctor(world)["master-key"]["ok"] is True


def test_stalled_background_jobs_are_reported(doctor: Doctor, make: Callable[..., World]) -> None:
    world = make()
    world.rt.heartbeats.update(jobs=world.clock(), mail=world.clock() - 10 * MINUTE)
    row = doctor(world)["jobs"]
    assert (row["ok"], row["detail"]) == (False, "background jobs have stalled: mail for 600 s")


def test_a_damaged_database_is_reported_and_the_other_checks_still_run(
    doctor: Doctor, make: Callable[..., World]
) -> None:
    world = make()
    world.rt.db.truncate_wal()
    path = world.rt.config.database_path
    with path.open("r+b") as file:
        file.seek(path.stat().st_size - 4096)
        file.write(b"\xff" * 4096)
    rows = doctor(world)
    assert (rows["database"]["ok"], rows["database"]["level"]) == (False, "error")
    assert "docshare admin check" in rows["database"]["fix"]
    assert rows["disk"]["ok"] is True


def test_late_emails_are_counted(doctor: Doctor, make: Callable[..., World]) -> None:
    from docshare.server.services.operations import mail

    world = make(smtp_url="smtp://127.0.0.1:9")
    with world.rt.db.write():
        mail.enqueue(world.rt, "ann@example.com", "Hello", "Hello")
    world.clock.advance(minutes=10)
    rows = doctor(world)
    assert (rows["outbox"]["ok"], rows["outbox"]["detail"]) == (False, "emails late: 1, failed in 24 hours: 0")
    assert (rows["smtp"]["ok"], rows["smtp"]["level"]) == (False, "error")
    assert "refused" in rows["smtp"]["detail"]


def test_abandoned_deliveries_and_disabled_webhooks_are_counted(doctor: Doctor, make: Callable[..., World]) -> None:
    world = make()
    uuid, now = world.pia.upload()["uuid"], world.clock()
    with world.rt.db.write():
        world.rt.db.execute(
            "INSERT INTO webhooks (uuid, account_id, url, peer, format, events, secret, created_at, disabled_at) "
            "SELECT 'w', owner_id, 'https://hooks.example/', 'hooks.example', 'json', '[]', x'00', ?, ? FROM files "
            "WHERE uuid = ?",
            (now, now, uuid),
        )
        world.rt.db.execute(
            "INSERT INTO deliveries (uuid, webhook_id, file_id, event, body, created_at, abandoned_at) "
            "SELECT 'd', w.id, f.id, 'file.viewed', '{}', ?, ? FROM webhooks w, files f WHERE f.uuid = ?",
            (now, now, uuid),
        )
    world.clock.advance(hours=1)
    row = doctor(world)["deliveries"]
    assert (row["ok"], row["detail"]) == (False, "deliveries late: 0, abandoned in 24 hours: 1; webhooks disabled: 1")


def test_the_mail_server_is_checked_without_sending_mail_unless_a_recipient_is_given(
    doctor: Doctor, make: Callable[..., World]
) -> None:
    with FakeMailServer() as box:
        world = make(smtp_url=box.url)
        assert doctor(world)["smtp"]["detail"] == "the mail server accepts connections from this server"
        assert box.messages == []
        assert doctor(world, "--mail", "you@example.com")["smtp"]["ok"] is True
    (message,) = box.messages
    assert (message["To"], message["Subject"]) == ("you@example.com", "Test email from docshare")


def test_the_error_of_a_mail_server_that_rejects_the_sender_is_quoted(
    doctor: Doctor, make: Callable[..., World]
) -> None:
    with FakeMailServer(answers={"MAIL": b"550 who are you"}) as box:
        row = doctor(make(smtp_url=box.url), "--mail", "you@example.com")["smtp"]
    assert (row["ok"], row["detail"]) == (False, "the mail server answered 550 who are you")


def test_a_test_mail_without_a_mail_server_names_the_setting(doctor: Doctor, make: Callable[..., World]) -> None:
    row = doctor(make(), "--mail", "you@example.com")["smtp"]
    assert (row["ok"], row["fix"]) == (False, "Set DOCSHARE_SMTP_URL.")


def test_the_egress_check_follows_the_address_rules_of_webhooks(doctor: Doctor, make: Callable[..., World]) -> None:
    with reverse_proxy() as hook:
        hook.fixed_answer = (204, "")
        world = make(webhook_allow=("127.0.0.0/8",))
        assert doctor(world, "--egress", hook.url)["egress"]["detail"] == "127.0.0.1 answered with status 204"
        assert hook.requests == ["GET"]
        assert doctor(world, "--egress", "http://169.254.169.254/")["egress"]["ok"] is False
        assert doctor(make(), "--egress", hook.url)["egress"]["ok"] is False
        assert hook.requests == ["GET"]


def test_invalid_keys_of_a_design_tool_are_reported(doctor: Doctor, make: Callable[..., World]) -> None:
    with reverse_proxy() as tool:
        tool.fixed_answer = (200, "")
        row = doctor(make(design_user_jwks_url=f"{tool.url}/keys"))["design-keys"]
    assert (row["ok"], row["level"]) == (False, "error")
    assert "DOCSHARE_DESIGN_USER_JWKS_URL" in row["fix"]


@pytest.mark.parametrize(
    ("settings", "level", "fix"),
    [
        ({"trusted_proxies": (ip_network("0.0.0.0/0"),)}, "error", "DOCSHARE_TRUSTED_PROXIES=127.0.0.1/32"),
        ({"country_header": "CF-IPCountry"}, "warning", "DOCSHARE_TRUSTED_PROXIES"),
    ],
)
def test_unsafe_proxy_settings_are_reported(
    doctor: Doctor, make: Callable[..., World], settings: dict[str, Any], level: str, fix: str
) -> None:
    row = doctor(make(**settings))["proxies"]
    assert (row["ok"], row["level"]) == (False, level)
    assert fix in row["fix"]


def test_a_hanging_check_does_not_stop_the_others(
    doctor: Doctor, make: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_and_limit_mail(seconds: float, check: Any, fix: str) -> Any:
        return run_check(seconds / 300 if "SMTP" in fix else seconds, check, fix)

    monkeypatch.setattr("docshare.server.services.operations.diagnosis.run_check", run_and_limit_mail)
    with FakeMailServer(is_slow=True) as box:
        rows = doctor(make(smtp_url=box.url))
    assert (rows["smtp"]["ok"], rows["smtp"]["detail"]) == (False, "no response within 0.2 seconds")
    assert rows["schema"]["ok"] is True


def test_the_converter_check_starts_libreoffice_like_a_conversion(shell: Shell, world: World) -> None:
    from docshare.server.services.operations import environment_checks

    if not world.rt.converter.is_available:
        pytest.skip("LibreOffice is not installed")
    assert environment_checks.check_converter(world.rt, {}).detail.startswith("LibreOffice starts; it ")


@contextmanager
def set_default_umask() -> Iterator[None]:
    before = os.umask(0o022)
    try:
        yield
    finally:
        os.umask(before)


def test_the_data_is_checked_even_if_no_server_runs(shell: Shell, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with set_default_umask():
        assert shell("admin", "account", "create", "ada@example.com", "--data", folder).code == 0
        rows = group_rows_by_check(run_doctor(shell, folder))
        (folder / "docshare.db").write_bytes(b"no database" * 1000)
        broken = run_doctor(shell, folder)
    assert {name: rows[name]["ok"] for name in ("process", "permissions", "database", "jobs")} == {
        "process": None, "permissions": True, "database": True, "jobs": None,
    }  # fmt: skip
    assert broken.code == 13
    detail = group_rows_by_check(broken)["report"]["detail"]
    assert detail == f"the database in {folder} is damaged: file is not a database"


def test_a_setting_that_prevents_the_server_from_starting_is_reported(shell: Shell, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "docshare.db").touch()
    (folder / "config.toml").write_text("thread = 4\n")
    with set_default_umask():
        ended = run_doctor(shell, folder)
    assert (ended.code, group_rows_by_check(ended)["report"]["detail"]) == (13, "config.toml: unknown setting 'thread'")


def test_a_mistyped_directory_is_an_error_and_a_remote_server_is_not(shell: Shell, tmp_path: Path) -> None:
    mistyped = run_doctor(shell, tmp_path / "nowhere")
    assert mistyped.code == 13
    assert "there is no docshare data in" in group_rows_by_check(mistyped)["report"]["detail"]
    elsewhere = shell("doctor", "--only", "instance", "--only", "public", "--json")
    assert elsewhere.code == 0
    assert {row["ok"] for row in elsewhere.json} == {None}


def test_a_hanging_server_is_reported_and_doctor_waits_for_it_only_once(
    shell: Shell, make: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    from docshare.server.instance import Instance, announce
    from docshare.server.store.identity import instance_key
    from docshare.server.store.lock import DirectoryLock

    instance = "docshare.cli.commands.doctor.instance"
    monkeypatch.setattr(f"{instance}.TIMEOUT_S", 0.3)  # of a response; the rest takes as long as a busy machine needs
    monkeypatch.setattr(f"{instance}.run_check", lambda seconds, check, fix="": run_check(60.0, check, fix))
    rt = make().rt
    folder = rt.config.data_dir
    with socket.create_server(("127.0.0.1", 0)) as silent, DirectoryLock(folder):
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        announce(Instance(rt, instance_key(folder)), url, "127.0.0.1")
        ended = shell("doctor", "--only", "instance", "--only", "public", "--data", folder, "--json")
    rows = group_rows_by_check(ended)
    assert (ended.code, list(rows)) == (13, ["process", "public.address", "public.reach"])
    assert rows["process"]["detail"] == f"process {os.getpid()} owns the data directory but does not respond at {url}"
    assert rows["public.reach"]["ok"] is None


def test_a_server_that_locks_its_data_and_does_not_respond_is_reported(
    shell: Shell, time: FakeTime, make: Callable[..., World]
) -> None:
    from docshare.server.store.lock import DirectoryLock

    folder = make().rt.config.data_dir
    with DirectoryLock(folder):
        ended = run_doctor(shell, folder)
    assert ended.code == 13
    assert group_rows_by_check(ended)["report"]["detail"] == f"the docshare process that uses {folder} does not answer"
