"""``docshare webhooks prune``: what is left over, and nothing else."""

from __future__ import annotations

import json

import pytest

from docshare.cli.local.storage import hold_lock
from tests.cli.commands.fake_webhooks import FakeWebhooks, format_moment, webhook_uuid
from tests.support.fake_api import FakeApi
from tests.support.shell import Shell

TUNNEL = "https://bold-fox.trycloudflare.com/"


@pytest.fixture
def fake_webhooks(api: FakeApi, shell: Shell) -> FakeWebhooks:
    """Three webhooks: 1 was left behind here, 2 is disabled, 3 was left behind on another machine. The file also notes
    one of another account, and one of another server."""
    board = FakeWebhooks(api)
    board.add_webhook("https://calm-owl.trycloudflare.com/")
    board.add_webhook("https://old.example/", active=False)
    board.add_webhook(f"{TUNNEL}hook")
    write_listener_file(
        shell,
        make_entry(webhook_uuid(1), api.url),
        make_entry(webhook_uuid(9), api.url),
        make_entry(webhook_uuid(8), "https://docs.example"),
    )
    return board


def make_entry(webhook: str, origin: str) -> dict[str, str | None]:
    return {
        "uuid": webhook,
        "origin": origin,
        "profile": None,
        "url": "https://x.example/",
        "createdAt": format_moment(0),
    }


def write_listener_file(shell: Shell, *entries: object) -> None:
    path = shell.home / "state" / "listeners.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(entries))


def read_listener_uuids(shell: Shell) -> list[str]:
    return [each["uuid"] for each in json.loads((shell.home / "state" / "listeners.json").read_text())]


@pytest.mark.parametrize(
    ("words", "gone"),
    [
        ((), [1]),
        (("--inactive",), [2, 1]),
        (("--url-prefix", TUNNEL), [3, 1]),
        (("--url-prefix", TUNNEL, "--inactive"), [3, 2, 1]),
        (("--url-prefix", "https://bold"), [3, 1]),
    ],
)
def test_what_is_left_over_goes_and_what_options_name(
    fake_webhooks: FakeWebhooks, shell: Shell, words: tuple[str, ...], gone: list[int]
) -> None:
    done = shell("webhooks", "prune", *words, "--yes")
    assert done.code == 0
    assert fake_webhooks.list_changes() == [f"DELETE /webhooks/{webhook_uuid(number)}" for number in gone]
    assert read_listener_uuids(shell) == [webhook_uuid(9), webhook_uuid(8)]


def test_each_is_named_with_the_reason_before_the_question(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    shell.tty = True
    done = shell("webhooks", "prune", "--inactive", "--no-color", stdin=b"n\n")
    assert (done.code, fake_webhooks.list_changes()) == (2, [])
    assert f"{webhook_uuid(1)}  https://calm-owl.trycloudflare.com/  left behind" in done.err
    assert f"{webhook_uuid(2)}  https://old.example/  disabled after 20" in done.err
    assert "Delete 2 webhooks? [y/N]" in done.err


def test_in_a_script_it_needs_yes(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    assert shell("webhooks", "prune").code == 2
    assert fake_webhooks.list_changes() == []


def test_a_dry_run_changes_nothing(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    done = shell("webhooks", "prune", "-n")
    assert done.lines == [f"DELETE\t/api/v1/webhooks/{webhook_uuid(1)}\t"]
    assert (fake_webhooks.list_changes(), read_listener_uuids(shell)) == (
        [],
        [webhook_uuid(1), webhook_uuid(9), webhook_uuid(8)],
    )


def test_nothing_left_over_is_success(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    (shell.home / "state" / "listeners.json").unlink()
    done = shell("webhooks", "prune", "--json")
    assert (done.code, done.json, done.err) == (0, [], "")
    shell.tty = True
    done = shell("webhooks", "prune", "--no-color")
    assert (done.out, done.err) == ("", "no webhooks to delete\n")


def test_a_webhook_deleted_by_hand_is_forgotten_here(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    shell("webhooks", "delete", webhook_uuid(1), "--yes")
    assert webhook_uuid(1) not in read_listener_uuids(shell)


def test_a_prefix_that_would_fit_everything_is_2(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    for prefix in ("", "bold-fox"):
        assert shell("webhooks", "prune", "--url-prefix", prefix, "--yes").code == 2
    assert fake_webhooks.api.requests == []


def test_a_webhook_that_is_listened_to_stays(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    with hold_lock(shell.home / "state" / "listeners" / f"{webhook_uuid(1)}.lock"):
        assert shell("webhooks", "prune", "--yes").code == 0
        assert fake_webhooks.list_changes() == []
    assert shell("webhooks", "prune", "--yes").code == 0
    assert fake_webhooks.list_changes() == [f"DELETE /webhooks/{webhook_uuid(1)}"]


def test_a_file_that_cannot_be_read_keeps_nobody_from_deleting(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    (shell.home / "state" / "listeners.json").write_text("{")
    assert shell("webhooks", "delete", webhook_uuid(1), "--yes").code == 0
    assert shell("webhooks", "prune", "--yes").code == 2
    assert fake_webhooks.list_changes() == [f"DELETE /webhooks/{webhook_uuid(1)}"]
