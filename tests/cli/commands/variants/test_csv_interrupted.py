"""``docshare variants create --from-csv`` after an interrupted run, on a fake server; ``test_resume.py`` uses a real
one."""

from pathlib import Path

from tests.cli.commands.fakes.variants import FILE, FakeVariants
from tests.cli.commands.variants.from_csv import create_from_csv, read_rows, read_statuses
from tests.support.outside.fake_api import FakeResponse, FakeTime, problem
from tests.support.shell import Shell


def interrupt_run(fake_server: FakeVariants, shell: Shell, out: Path, text: str) -> None:
    """Run until the server rejects the credential at the second row."""
    fake_server.error_for = lambda body: problem(401, "unauthorized") if len(fake_server.list_creates()) == 2 else None
    assert create_from_csv(shell, text, "--out", out).code == 4
    fake_server.error_for = lambda body: None
    assert read_statuses(out) == ["created", "pending", "pending"]


TEXT = "label,pages\nAnn,\nBob,1-2\nCy,\n"


def test_a_link_whose_response_was_lost_is_recovered(fake_variants: FakeVariants, shell: Shell, out: Path) -> None:
    interrupt_run(fake_variants, shell, out, TEXT)
    fake_variants.add_variant("Bob", overrides={"pageRange": {"from": 1, "to": 2}})
    done = create_from_csv(shell, TEXT, "--out", out)
    assert (done.code, len(fake_variants.rows)) == (0, 3)
    assert read_statuses(out) == ["created", "recovered", "created"]


def test_a_link_with_the_same_label_and_other_overrides_is_not_recovered(
    fake_variants: FakeVariants, shell: Shell, out: Path
) -> None:
    interrupt_run(fake_variants, shell, out, TEXT)
    fake_variants.add_variant("Bob")
    done = create_from_csv(shell, TEXT, "--out", out)
    assert (done.code, len(fake_variants.rows)) == (2, 2)
    assert "row 3 (Bob): a variant with this label already exists" in done.err


def test_a_new_row_does_not_recover_an_existing_link(fake_variants: FakeVariants, shell: Shell, out: Path) -> None:
    interrupt_run(fake_variants, shell, out, TEXT)
    fake_variants.add_variant("Zoe")
    assert create_from_csv(shell, TEXT + "Zoe,\n", "--out", out).code == 2


def test_the_result_marks_the_row_whose_request_is_being_sent(
    fake_variants: FakeVariants, shell: Shell, out: Path
) -> None:
    """The status is on disk before the request is sent, since the program may be killed during it."""
    seen: list[list[str]] = []
    fake_variants.error_for = lambda body: seen.append(read_statuses(out))
    assert create_from_csv(shell, TEXT, "--out", out).code == 0
    assert seen == [
        ["sending", "pending", "pending"],
        ["created", "sending", "pending"],
        ["created", "created", "sending"],
    ]


def test_a_run_that_stops_reports_the_remaining_links(fake_variants: FakeVariants, shell: Shell, out: Path) -> None:
    fake_variants.error_for = lambda body: problem(401, "unauthorized")
    done = create_from_csv(shell, TEXT, "--out", out)
    assert "3 links remain; run the same command again" in done.err


def test_the_next_run_waits_for_a_request_of_a_killed_run_to_take_effect(
    fake_variants: FakeVariants, shell: Shell, out: Path, time: FakeTime
) -> None:
    """The program was killed before the server acted: the next run must not overtake that request."""
    interrupt_run(fake_variants, shell, out, TEXT)
    out.write_text(out.read_text().replace("pending", "sending", 1))

    def act_late(seconds: float) -> None:
        if seconds == 5.0:
            fake_variants.add_variant("Bob", overrides={"pageRange": {"from": 1, "to": 2}})

    time.on_sleep = act_late
    assert create_from_csv(shell, TEXT, "--out", out).code == 0
    assert time.waits == [2.0, 5.0]
    assert sorted(row["label"] for row in fake_variants.rows) == ["Ann", "Bob", "Cy"]


def test_a_request_that_never_arrived_is_sent_again_after_a_while(
    fake_variants: FakeVariants, shell: Shell, out: Path, time: FakeTime
) -> None:
    interrupt_run(fake_variants, shell, out, TEXT)
    out.write_text(out.read_text().replace("pending", "sending", 1))
    assert create_from_csv(shell, TEXT, "--out", out).code == 0
    assert time.waits == [2.0, 5.0]
    assert sorted(row["label"] for row in fake_variants.rows) == ["Ann", "Bob", "Cy"]


def test_an_unknown_outcome_exits_with_14_and_is_recorded_in_the_result(
    fake_variants: FakeVariants, shell: Shell, out: Path
) -> None:
    fake_variants.api.on("POST", f"/files/{FILE}/variants", FakeResponse(connection_action="drop"))
    fake_variants.api.on("GET", f"/files/{FILE}/variants", {"variants": []}, problem(500, "internal"))
    done = create_from_csv(shell, "label\nAnn\nBob\n", "--out", out)
    assert done.code == 14
    assert read_statuses(out) == ["sending", "pending"]
    assert "was lost" in read_rows(out)[0]["error"]


def test_a_dry_run_omits_links_that_the_result_contains(fake_variants: FakeVariants, shell: Shell, out: Path) -> None:
    interrupt_run(fake_variants, shell, out, TEXT)
    before = out.read_text()
    done = create_from_csv(shell, TEXT, "--out", out, "-n")
    assert [line.split("\t")[2] for line in done.lines] == [
        '{"label": "Bob", "overrides": {"pageRange": {"from": 1, "to": 2}}}', '{"label": "Cy"}',
    ]  # fmt: skip
    assert out.read_text() == before
