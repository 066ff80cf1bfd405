"""Fixtures of the tests of events."""

import pytest

from tests.cli.commands.events.event_tail import tail_ids
from tests.support.outside.fake_api import FakeApi
from tests.support.shell import Shell


@pytest.fixture
def shell_with_cursor(api: FakeApi, shell: Shell) -> Shell:
    """Return a shell with the cursor ``crm`` of the view stream at 3."""
    api.add("view", 2, 3)
    tail_ids(shell, "--cursor", "crm", "--once")
    return shell
