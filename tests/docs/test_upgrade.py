"""Every promise of ``docshare help upgrade`` has a test.

``PROMISES`` maps each sentence to the tests that fail if it is broken. A sentence that is new or worded differently
needs a line here, and a test that moves needs its new place.
"""

import ast
import re
from pathlib import Path

import pytest

from docshare import __version__
from docshare.cli import topics
from tests.support import promises
from tests.support.repository import ROOT

UPGRADE, SCHEMA, STEPS = (
    "tests/e2e/test_upgrade.py",
    "tests/store/test_schema.py",
    "tests/store/test_postgresql_upgrade.py",
)
BACKUP, RESTORE, HERE = (
    "tests/server/backup/test_backup.py",
    "tests/server/backup/test_restore_backup.py",
    "tests/docs/test_upgrade.py",
)
OPENS = f"{UPGRADE}::test_the_data_directory_of_every_released_schema_opens"
KEEPS_NAMES = f"{HERE}::test_no_name_of_a_release_is_removed"
REJECTS = f"{UPGRADE}::test_an_older_version_rejects_a_newer_database_in_one_line"
RUNS_ALONGSIDE = f"{STEPS}::test_a_step_only_adds"

PROMISES = {
    "The new version upgrades the data directory when it starts.": (OPENS,),
    "No other command is necessary, and versions can be skipped.": (OPENS,),
    "Back up while the previous version runs,": (f"{BACKUP}::test_backups_during_writes_are_complete",),
    "The database stores the number of its schema.": (OPENS,),
    "The new version applies the missing steps in order, each in one transaction, before it answers the first request.":
        (f"{SCHEMA}::test_a_step_that_fails_changes_nothing_and_the_next_start_continues_with_it", OPENS),
    "A step that fails or is interrupted changes nothing; the next start continues with it.":
        (f"{SCHEMA}::test_a_step_that_fails_changes_nothing_and_the_next_start_continues_with_it",),
    "Steps add tables, columns, and indexes; a later version removes unused ones.": (RUNS_ALONGSIDE,),
    "They do not rewrite documents.": (OPENS,),
    "/healthz answers once the upgrade is complete, and docshare serve logs it:": (OPENS,),
    "The first process upgrades the tables under a lock, and the others wait for it.":
        (f"{STEPS}::test_instances_that_start_at_once_upgrade_the_database_once",),
    "With --workers, SIGHUP replaces the worker processes one after the other with those of the new version.":
        ("tests/e2e/serve/test_workers_upgrade.py::test_new_worker_processes_upgrade_the_schema_before_they_serve",),
    "instances of the previous version keep running during the upgrade but cannot start again.":
        (RUNS_ALONGSIDE, REJECTS),
    "An older version rejects a newer database with exit code 2 and changes nothing:":
        (REJECTS, f"{UPGRADE}::test_the_topic_quotes_the_line_of_the_refusal"),
    "Otherwise stop the server, install the old version, and restore the backup:":
        (f"{BACKUP}::test_a_backup_is_restored_completely",),
    "Documents and readership that were added after the backup are then only in the directory before-restore-..., which"
    " restore leaves in place.": (f"{RESTORE}::test_an_instance_is_replaced_after_confirmation_and_moved_aside",),
    "API Routes and fields of /api/v1 are only added.": (KEEPS_NAMES,),
    "webhooks The signature and existing fields of payloads do not change.":
        ("tests/contract/test_signing.py::test_the_signature_matches_the_openssl_vector",
         "tests/contract/test_webhooks.py::test_kind_has_the_expected_data_keys_actor_and_plan"),
    "commands Names, options, and fields of --json are only added.": (KEEPS_NAMES,),
    "exit codes Their meaning does not change: docshare help exit-codes.":
        (KEEPS_NAMES, "tests/cli/framework/test_errors.py::test_every_error_response_has_its_exit_code"),
    "links Share links, QR codes, and API keys keep working.": (OPENS,),
    "files Every later version opens the data directory and the backups of every earlier version.":
        (OPENS, f"{UPGRADE}::test_every_released_schema_has_a_fixture",
         f"{UPGRADE}::test_the_backup_of_an_earlier_version_is_restored"),
}  # fmt: skip

EXPLANATIONS = {
    "as docshare help backup describes.",
    "With PostgreSQL, save the database with pg_dump as well.",
    "Time depends on the number of rows, not on the size of the documents.",
    "For several hosts, see docshare help cluster:",
    "If the new version needed no step, install the old version and start it.",
    "Clients must ignore fields that they do not know.",
    "A custom link /docs or /device from before these pages existed needs another name.",
}


def read_sentences() -> str:
    """Return the topic without its title, headings and examples, in one line."""
    lines = topics.load("upgrade").splitlines()[1:]
    # An example is indented by 4 to 11 characters, and the second column of the table by 16.
    return " ".join(" ".join(line for line in lines if not re.match(r"# | {4,11}\S", line)).split())


def test_every_sentence_of_the_topic_is_a_promise_with_a_test_or_an_explanation() -> None:
    left = read_sentences()
    for sentence in (*PROMISES, *EXPLANATIONS):
        assert sentence in left
        left = left.replace(sentence, "")
    assert left.split() == []


@pytest.mark.parametrize("test", sorted({test for tests in PROMISES.values() for test in tests}))
def test_the_test_of_a_promise_exists(test: str) -> None:
    path, _, name = test.partition("::")
    tree = ast.parse(Path(ROOT, path).read_text())
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_no_name_of_a_release_is_removed() -> None:
    """Names of commands, options, fields, exit codes, and of the API are only added."""
    _, names = promises.read_record()
    assert len(names) > 2_000
    assert sorted(names - promises.list_names()) == []


def test_the_names_of_this_release_are_recorded() -> None:
    """After a change of ``docshare.__version__``: ``python -m tests.support.promises``."""
    release, names = promises.read_record()
    assert release == __version__
    assert {"docshare upload --slug", "docshare files list field shareUrl", "exit code 3 NOT_FOUND"} <= names
    assert {"GET /api/v1/files", "schema File field shareUrl"} <= names
