"""``docshare variants create --from-csv`` again after a run that was interrupted (with a real server:
``test_resume.py``)."""

from pathlib import Path

from tests.cli.commands.fake_variants import FILE, FakeVariants
from tests.cli.commands.variants.from_csv import create_from_csv, read_rows, read_statuses
from tests.support.fake_api import FakeResponse, FakeTime, problem
from tests.support.shell import Shell


def interrupt_run(book: FakeVariants, shell: Shell, out: Path, text: str) -> None:
    """A run that is stopped by a refused credential at the second row."""
    book.refusal_for = lambda body: problem(401, "unauthorized") if len(book.list_creates()) == 2 else None
    assert create_from_csv(shell, text, "--out", out).code == 4
    book.refusal_for = lambda body: None
    assert read_statuses(out) == ["created", "pending", "pending"]


TEXT = "label,pages\nAnn,\nBob,1-2\nCy,\n"


def test_a_link_made_while_its_answer_was_lost_is_taken_over(
    fake_variants: FakeVariants, shell: Shell, out: Path
) -> None:
    interrupt_run(fake_variants, shell, out, TEXT)
    fake_variants.add_variant("Bob", overrides={"pageRange": {"from": 1, "to": 2}})
    done = create_from_csv(shell, TEXT, "--out", out)
    assert (done.code, len(fake_variants.rows)) == (0, 3)
    assert read_statuses(out) == ["created", "recovered", "created"]


def test_a_link_of_that_label_with_other_overrides_is_not_taken_for_it(
    fake_variants: FakeVariants, shell: Shell, out: Path
) -> None:
    interrupt_run(fake_variants, shell, out, TEXT)
    fake_variants.add_variant("Bob")
    done = create_from_csv(shell, TEXT, "--out", out)
    assert (done.code, len(fake_variants.rows)) == (2, 2)
    assert "row 3 (Bob): a variant with this label already exists" in done.err


def test_a_row_that_is_new_takes_over_nothing(fake_variants: FakeVariants, shell: Shell, out: Path) -> None:
    interrupt_run(fake_variants, shell, out, TEXT)
    fake_variants.add_variant("Zoe")
    assert create_from_csv(shell, TEXT + "Zoe,\n", "--out", out).code == 2


def test_the_result_says_which_row_is_being_made(fake_variants: FakeVariants, shell: Shell, out: Path) -> None:
    """On disk before the request leaves, since the program may die with it."""
    seen: list[list[str]] = []
    fake_variants.refusal_for = lambda body: seen.append(read_statuses(out))
    assert create_from_csv(shell, TEXT, "--out", out).code == 0
    assert seen == [
        ["sending", "pending", "pending"],
        ["created", "sending", "pending"],
        ["created", "created", "sending"],
    ]


def test_a_run_says_what_is_left_when_it_stops(fake_variants: FakeVariants, shell: Shell, out: Path) -> None:
    fake_variants.refusal_for = lambda body: problem(401, "unauthorized")
    done = create_from_csv(shell, TEXT, "--out", out)
    assert "3 links remain; run the same command again" in done.err


def test_a_request_that_a_dead_run_left_behind_gets_time_to_be_worked_off(
    fake_variants: FakeVariants, shell: Shell, out: Path, time: FakeTime
) -> None:
    """The program died, the server had not acted yet: the next run must not overtake it."""
    interrupt_run(fake_variants, shell, out, TEXT)
    out.write_text(out.read_text().replace("pending", "sending", 1))

    def late(seconds: float) -> None:
        if seconds == 5.0:
            fake_variants.add_variant("Bob", overrides={"pageRange": {"from": 1, "to": 2}})

    time.on_sleep = late
    assert create_from_csv(shell, TEXT, "--out", out).code == 0
    assert time.waits == [2.0, 5.0]
    assert sorted(row["label"] for row in fake_variants.rows) == ["Ann", "Bob", "Cy"]


def test_a_request_that_never_arrived_is_made_after_a_while(
    fake_variants: FakeVariants, shell: Shell, out: Path, time: FakeTime
) -> None:
    interrupt_run(fake_variants, shell, out, TEXT)
    out.write_text(out.read_text().replace("pending", "sending", 1))
    assert create_from_csv(shell, TEXT, "--out", out).code == 0
    assert time.waits == [2.0, 5.0]
    assert sorted(row["label"] for row in fake_variants.rows) == ["Ann", "Bob", "Cy"]


def test_an_outcome_nobody_knows_is_14_and_stays_in_the_result(
    fake_variants: FakeVariants, shell: Shell, out: Path
) -> None:
    fake_variants.api.on("POST", f"/files/{FILE}/variants", FakeResponse(connection_action="drop"))
    fake_variants.api.on("GET", f"/files/{FILE}/variants", {"variants": []}, problem(500, "internal"))
    done = create_from_csv(shell, "label\nAnn\nBob\n", "--out", out)
    assert done.code == 14
    assert read_statuses(out) == ["sending", "pending"]
    assert "was lost" in read_rows(out)[0]["error"]


def test_a_dry_run_leaves_out_what_the_result_has(fake_variants: FakeVariants, shell: Shell, out: Path) -> None:
    interrupt_run(fake_variants, shell, out, TEXT)
    before = out.read_text()
    done = create_from_csv(shell, TEXT, "--out", out, "-n")
    assert [line.split("\t")[2] for line in done.lines] == [
        '{"label": "Bob", "overrides": {"pageRange": {"from": 1, "to": 2}}}', '{"label": "Cy"}',
    ]  # fmt: skip
    assert out.read_text() == before
