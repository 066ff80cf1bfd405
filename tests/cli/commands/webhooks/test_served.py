"""``docshare webhooks`` and ``docshare admin deliveries`` against a real server and a real receiver."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from docshare.contract.signing import verify
from tests.support.documents.pdfs import simple_pdf
from tests.support.outside.receivers import (
    FAILING_SCRIPTS,
    LOOPBACK_NETWORKS,
    OK,
    FakeReceiver,
    deliver_until_idle,
)
from tests.support.shell import Shell

pytestmark = pytest.mark.world(webhook_allow=LOOPBACK_NETWORKS)


if TYPE_CHECKING:
    from tests.support.people.cast import Person, World

UNKNOWN = "00000000-0000-4000-8000-000000000001"


@pytest.fixture
def shell(shell_for: Callable[[Person], Shell], world: World) -> Shell:
    """Return the shell of a Pro user who has uploaded a file."""
    return shell_for(world.pia)


@pytest.fixture
def file(world: World) -> str:
    return str(world.pia.upload()["uuid"])


@pytest.fixture
def replace_content(shell: Shell, file: str, tmp_path: Path) -> Callable[[], None]:
    """Return a function that causes an event: it replaces the document."""
    path = tmp_path / "deck.pdf"
    path.write_bytes(simple_pdf(pages=2))

    def replace() -> None:
        assert shell("replace", file, path, "--yes").code == 0

    return replace


def create_webhook(shell: Shell, receiver: FakeReceiver, *words: str | Path) -> str:
    """Create a webhook for the receiver and return its UUID."""
    done = shell("webhooks", "create", receiver.url, "--events", "content.replaced", *words, "--json")
    assert done.code == 0, done.err
    return str(done.json["webhook"]["uuid"])


def test_the_secret_in_the_file_verifies_received_deliveries(
    shell: Shell, world: World, receiver: FakeReceiver, replace_content: Callable[[], None], tmp_path: Path
) -> None:
    webhook = create_webhook(shell, receiver, "--secret-file", tmp_path / "secret", "--test")
    replace_content()
    deliver_until_idle(world, world.rt)
    secret = (tmp_path / "secret").read_text().strip()
    assert re.fullmatch("whsec_[0-9a-f]{64}", secret)
    for hit in receiver.requests:
        assert verify(secret, hit.body, hit.headers["x-service-signature"], world.clock.now)
    assert [json.loads(hit.body)["event"] for hit in receiver.requests] == ["webhook.test", "content.replaced"]
    assert shell("webhooks", "list", "--fields", "uuid,active,lastStatus").out == f"{webhook}\ttrue\t200\n"
    kept = b"".join(path.read_bytes() for path in shell.home.rglob("*") if path.is_file())
    assert secret.encode() not in kept


def test_a_failed_delivery_is_listed_and_redelivered(
    shell: Shell, world: World, receiver: FakeReceiver, replace_content: Callable[[], None]
) -> None:
    webhook = create_webhook(shell, receiver)
    receiver.set_script(FAILING_SCRIPTS["5xx"])
    replace_content()
    deliver_until_idle(world, world.rt)
    (row,) = shell("webhooks", "deliveries", webhook, "--json").json
    assert (row["state"], [each["status"] for each in row["attempts"]]) == ("abandoned", [503] * 5)
    receiver.set_script(OK)
    assert shell("webhooks", "redeliver", webhook, "--failed").code == 0
    deliver_until_idle(world, world.rt)
    shell.tty = True
    assert "✗✗✗✗✗✓" in shell("webhooks", "deliveries", receiver.url).out
    shell.tty = False
    again = shell("webhooks", "redeliver", webhook, str(row["id"]), "--json")
    assert (again.code, again.json["state"]) == (0, "queued")
    twice = shell("webhooks", "redeliver", webhook, str(row["id"]), "--json")
    assert (twice.code, twice.json["state"]) == (0, "queued")


def test_a_disabled_webhook_catches_up_after_it_is_enabled(
    shell: Shell, world: World, receiver: FakeReceiver, replace_content: Callable[[], None]
) -> None:
    webhook = create_webhook(shell, receiver)
    receiver.set_script(FAILING_SCRIPTS["4xx"])
    for _ in range(21):
        replace_content()
    deliver_until_idle(world, world.rt)
    shell.tty = True
    assert "disabled after 20 abandoned deliveries" in shell("webhooks", "show", webhook).out
    shell.tty = False
    receiver.set_script(OK)
    receiver.requests.clear()
    assert shell("webhooks", "redeliver", webhook, "--failed", "--json").code == 12
    assert shell("webhooks", "enable", webhook, "--json").json["active"] is True
    assert shell("webhooks", "redeliver", webhook, "--failed").code == 0
    deliver_until_idle(world, world.rt)
    versions = [json.loads(hit.body)["data"]["contentVersion"] for hit in receiver.requests]
    assert sorted(versions) == list(range(2, 23))


def test_test_prints_the_status_of_the_receiver(shell: Shell, receiver: FakeReceiver) -> None:
    webhook = create_webhook(shell, receiver)
    receiver.set_script(FAILING_SCRIPTS["5xx"])
    done = shell("webhooks", "test", webhook)
    assert (done.code, done.out.split("\t")[:2]) == (13, ["false", "503"])


def test_a_webhook_for_one_file_shows_its_name(shell: Shell, receiver: FakeReceiver, file: str) -> None:
    create_webhook(shell, receiver, "--file", file)
    shell.tty = True
    shell.env["COLUMNS"] = "200"
    assert "report.pdf" in shell("webhooks", "list").out


def test_the_server_rejects_invalid_addresses_files_and_numbers(
    shell: Shell, world: World, shell_for: Callable[[Person], Shell], receiver: FakeReceiver, file: str
) -> None:
    for url in ("https://169.254.169.254/", "http://10.0.0.8/", "https://[fe80::1]/"):
        assert shell("webhooks", "create", url, "--all").code == 9
    assert shell("webhooks", "create", receiver.url, "--all", "--file", UNKNOWN).code == 3
    assert shell_for(world.mal)("webhooks", "create", receiver.url, "--all", "--file", file).code == 3
    for _ in range(25):
        assert shell("webhooks", "create", receiver.url, "--all").code == 0
    full = shell("webhooks", "create", receiver.url, "--all", "--json")
    assert (full.code, "25 webhooks" in full.error["detail"]) == (9, True)
    assert shell("webhooks", "prune", "--url-prefix", receiver.url, "--yes").code == 0
    assert shell("webhooks", "list").out == ""


def test_webhooks_of_another_account_are_not_found(
    shell: Shell, world: World, shell_for: Callable[[Person], Shell], receiver: FakeReceiver
) -> None:
    webhook = create_webhook(shell, receiver)
    stranger = shell_for(world.mal)
    for line in (("show", webhook), ("delete", webhook, "--yes"), ("test", webhook), ("enable", webhook)):
        assert stranger("webhooks", *line).code == 3
    assert stranger("webhooks", "deliveries", webhook).code == 3
    assert stranger("webhooks", "redeliver", webhook, "2").code == 3
    assert shell("webhooks", "delete", webhook, "--yes", "--json").json["deleted"] is True


# --- the operator ----------------------------------------------------------------------------------------------------


@pytest.fixture
def operator(shell: Shell, world: World, receiver: FakeReceiver, replace_content: Callable[[], None]) -> Shell:
    """Return the shell on the machine of the server, which has abandoned one delivery."""
    create_webhook(shell, receiver)
    receiver.set_script(FAILING_SCRIPTS["5xx"])
    replace_content()
    deliver_until_idle(world, world.rt)
    shell.env["DOCSHARE_DATA_DIR"] = str(world.rt.config.data_dir)
    return shell


def test_the_operator_can_list_deliveries_of_all_accounts(
    operator: Shell, world: World, receiver: FakeReceiver
) -> None:
    (row,) = operator("admin", "deliveries", "list", "--json").json
    assert (row["account"], row["url"], row["state"]) == (world.pia.email, receiver.url, "abandoned")
    line = operator("admin", "deliveries", "list").out.split("\t")
    assert line[:3] == [str(row["id"]), "abandoned", "content.replaced"]
    assert operator("admin", "deliveries", "list", "--state", "queued").out == ""
    operator.tty = True
    operator.env |= {"NO_COLOR": "1", "COLUMNS": "200"}
    header, shown = operator("admin", "deliveries", "list").lines
    assert header.split()[-3:] == ["ACCOUNT", "URL", "ID"]
    assert "✗✗✗✗✗" in shown
    assert world.pia.email in shown


def test_the_operator_can_show_a_body_and_its_attempts(operator: Shell, receiver: FakeReceiver) -> None:
    ident = operator("admin", "deliveries", "list", "--format", "ids").out.strip()
    shown = operator("admin", "deliveries", "show", ident, "--json").json
    assert shown["body"].encode() == receiver.requests[0].body
    assert shown["uuid"] == receiver.requests[0].headers["webhook-id"]
    operator.tty = True
    operator.env |= {"NO_COLOR": "1", "COLUMNS": "200"}
    lines = operator("admin", "deliveries", "show", ident).lines
    assert f"body           {shown['body']}" in lines
    assert [line.split()[:3] for line in lines[lines.index("") + 2 :]] == [
        [ident, "content.replaced", str(number)] for number in range(1, 6)
    ]
    assert operator("admin", "deliveries", "show", "999").code == 3


def test_the_operator_can_retry_a_delivery(operator: Shell, world: World, receiver: FakeReceiver) -> None:
    ident = operator("admin", "deliveries", "list", "--format", "ids").out.strip()
    receiver.set_script(OK)
    assert operator("admin", "deliveries", "retry", ident, "--json").json["state"] == "queued"
    assert operator("admin", "deliveries", "retry", ident, "--json").json["state"] == "queued"
    assert operator("admin", "deliveries", "retry", "nine").code == 2
