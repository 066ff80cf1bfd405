"""``docshare webhooks prune``: it deletes leftover webhooks and nothing else."""

from __future__ import annotations

import json

import pytest

from docshare.cli.local.storage import hold_lock
from tests.cli.commands.fakes.webhooks import FakeWebhooks, format_moment, webhook_uuid
from tests.support.outside.fake_api import FakeApi
from tests.support.shell import Shell

TUNNEL = "https://bold-fox.trycloudflare.com/"


@pytest.fixture
def fake_webhooks(api: FakeApi, shell: Shell) -> FakeWebhooks:
    """Create three webhooks: 1 is left over from this machine, 2 is disabled, 3 is left over from another machine. The
    listener file also has an entry of another account, and one of another server."""
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
def test_prune_deletes_leftover_webhooks_and_those_that_options_select(
    fake_webhooks: FakeWebhooks, shell: Shell, words: tuple[str, ...], gone: list[int]
) -> None:
    done = shell("webhooks", "prune", *words, "--yes")
    assert done.code == 0
    assert fake_webhooks.list_changes() == [f"DELETE /webhooks/{webhook_uuid(number)}" for number in gone]
    assert read_listener_uuids(shell) == [webhook_uuid(9), webhook_uuid(8)]


def test_the_prompt_lists_each_webhook_with_the_reason(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    shell.tty = True
    done = shell("webhooks", "prune", "--inactive", "--no-color", stdin=b"n\n")
    assert (done.code, fake_webhooks.list_changes()) == (2, [])
    assert f"{webhook_uuid(1)}  https://calm-owl.trycloudflare.com/  left behind" in done.err
    assert f"{webhook_uuid(2)}  https://old.example/  disabled after 20" in done.err
    assert "Delete 2 webhooks? [y/N]" in done.err


def test_prune_in_a_script_requires_yes(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    assert shell("webhooks", "prune").code == 2
    assert fake_webhooks.list_changes() == []


def test_a_dry_run_changes_nothing(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    done = shell("webhooks", "prune", "-n")
    assert done.lines == [f"DELETE\t/api/v1/webhooks/{webhook_uuid(1)}\t"]
    assert (fake_webhooks.list_changes(), read_listener_uuids(shell)) == (
        [],
        [webhook_uuid(1), webhook_uuid(9), webhook_uuid(8)],
    )


def test_no_leftover_webhooks_is_a_success(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    (shell.home / "state" / "listeners.json").unlink()
    done = shell("webhooks", "prune", "--json")
    assert (done.code, done.json, done.err) == (0, [], "")
    shell.tty = True
    done = shell("webhooks", "prune", "--no-color")
    assert (done.out, done.err) == ("", "no webhooks to delete\n")


def test_deleting_a_webhook_removes_it_from_the_listener_file(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    shell("webhooks", "delete", webhook_uuid(1), "--yes")
    assert webhook_uuid(1) not in read_listener_uuids(shell)


def test_a_prefix_that_matches_everything_exits_with_2(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    for prefix in ("", "bold-fox"):
        assert shell("webhooks", "prune", "--url-prefix", prefix, "--yes").code == 2
    assert fake_webhooks.api.requests == []


def test_the_webhook_of_a_running_listener_is_not_deleted(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    with hold_lock(shell.home / "state" / "listeners" / f"{webhook_uuid(1)}.lock"):
        assert shell("webhooks", "prune", "--yes").code == 0
        assert fake_webhooks.list_changes() == []
    assert shell("webhooks", "prune", "--yes").code == 0
    assert fake_webhooks.list_changes() == [f"DELETE /webhooks/{webhook_uuid(1)}"]


def test_an_unreadable_listener_file_does_not_prevent_delete(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    (shell.home / "state" / "listeners.json").write_text("{")
    assert shell("webhooks", "delete", webhook_uuid(1), "--yes").code == 0
    assert shell("webhooks", "prune", "--yes").code == 2
    assert fake_webhooks.list_changes() == [f"DELETE /webhooks/{webhook_uuid(1)}"]
