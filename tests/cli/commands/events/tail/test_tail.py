"""``docshare events tail``: it loses and repeats no row, and stops under each stop condition."""

from __future__ import annotations

import json
from time import localtime, strftime

import pytest

from tests.support.outside.fake_api import BASE, UUID, FakeApi, FakeTime, row
from tests.support.shell import CommandResult, Shell

FILE = {"uuid": UUID.format(1), "shortId": "aB3dE5fG7hJ9", "originalName": "deck.pdf"}


def tail_ids(shell: Shell, *options: str, code: int = 0) -> list[int]:
    """Return the ids that a tail printed, and check that it exits with ``code``."""
    done = shell("events", "tail", *options, "--json")
    assert done.code == code, done.err
    return [each["id"] for each in done.rows]


# --- selection -------------------------------------------------------------------------------------------------------


def test_a_tail_prints_new_rows(api: FakeApi, shell: Shell, time: FakeTime) -> None:
    api.add("view", 2, 3)
    time.run_in_waits(lambda: api.add("view", 4), None, None, None, None, lambda: api.add("view", 5, 6))
    assert tail_ids(shell, "--timeout", "1m") == [4, 5, 6]


@pytest.mark.parametrize("count", [1, 99, 100, 101, 250])
@pytest.mark.parametrize("first", [1, 2])
def test_no_row_of_an_empty_stream_is_lost_however_many_arrive_at_once(
    api: FakeApi, shell: Shell, time: FakeTime, first: int, count: int
) -> None:
    time.run_in_waits(lambda: api.add("view", *range(first, first + count)))
    shown = tail_ids(shell, "--timeout", "1m")
    if first == 1 and count > 100:
        assert shown == list(range(2, count + 1))  # no request can return id 1 once there are 100 later rows
    else:
        assert shown == list(range(first, first + count))


@pytest.mark.parametrize("count", [0, 1, 100, 101, 350])
def test_from_start_prints_every_row_once(api: FakeApi, shell: Shell, count: int) -> None:
    api.add("view", *range(2, 2 + count))
    assert tail_ids(shell, "--from", "start", "--once") == list(range(2, 2 + count))


def test_from_an_id_prints_the_rows_after_it(api: FakeApi, shell: Shell) -> None:
    api.add("view", *range(2, 302))
    assert tail_ids(shell, "--from", "190", "--once") == list(range(191, 302))


def test_once_prints_no_old_rows(api: FakeApi, shell: Shell) -> None:
    api.add("view", 2, 3)
    assert tail_ids(shell, "--once") == []


@pytest.mark.parametrize(("number", "expected"), [("0", []), ("2", [4, 5]), ("150", list(range(2, 6)))])
def test_the_lines_option_prints_the_last_rows_first(
    api: FakeApi, shell: Shell, number: str, expected: list[int]
) -> None:
    api.add("view", 2, 3, 4, 5)
    assert tail_ids(shell, "-n", number, "--once") == expected


def test_the_last_ten_rows_are_printed_first_on_a_terminal(api: FakeApi, shell: Shell) -> None:
    api.add("view", *range(2, 20))
    shell.tty = True
    done = shell("events", "tail", "--once")
    assert [line.rpartition("#")[2] for line in done.lines] == [str(number) for number in range(10, 20)]


def test_backlog_rows_do_not_count_toward_a_goal(api: FakeApi, shell: Shell, time: FakeTime) -> None:
    api.add("view", 2, 3)
    time.run_in_waits(lambda: api.add("view", 4))
    assert tail_ids(shell, "-n", "2", "--count", "1") == [2, 3, 4]


def test_streams_are_merged_by_time_within_a_poll(api: FakeApi, shell: Shell) -> None:
    api.rows["view"] = [row("view", 2, at=10), row("view", 3, at=5), row("view", 4, at=30)]
    api.rows["download"] = [row("download", 2, at=9), row("download", 3, at=20)]
    api.rows["gate"] = [row("gate", 2, at=25)]
    done = shell("events", "tail", "--type", "all", "--from", "start", "--once", "--json")
    assert [(each["type"], each["id"]) for each in done.rows] == [
        ("download", 2), ("view", 2), ("view", 3), ("download", 3), ("gate", 2), ("view", 4),
    ]  # fmt: skip


def test_a_row_without_a_time_stays_in_its_place_in_its_stream(api: FakeApi, shell: Shell) -> None:
    api.rows["view"] = [row("view", 2, at=10), row("view", 3), row("view", 4, at=30)]
    del api.rows["view"][1]["readAt"]
    api.rows["download"] = [row("download", 2, at=20)]
    done = shell("events", "tail", "--type", "view,download", "--from", "start", "--once", "--json")
    assert [(each["type"], each["id"]) for each in done.rows] == [
        ("view", 2), ("view", 3), ("download", 2), ("view", 4),
    ]  # fmt: skip


def test_all_streams_without_pro_are_followed_without_gate_after_one_note(
    api: FakeApi, shell: Shell, time: FakeTime
) -> None:
    api.is_gate_allowed = False
    time.run_in_waits(lambda: api.add("download", 2))
    done = shell("events", "tail", "--type", "all", "--timeout", "1m", "--json")
    assert (done.code, [each["type"] for each in done.rows]) == (0, ["download"])
    assert done.err.count("skipping the gate stream") == 1


@pytest.mark.parametrize("options", [("--type", "gate"), ("--type", "all", "--require-all")])
def test_an_explicit_gate_stream_without_pro_exits_with_6(api: FakeApi, shell: Shell, options: tuple[str, ...]) -> None:
    api.is_gate_allowed = False
    assert tail_ids(shell, *options, code=6) == []


def test_gate_rows_are_followed_with_pro(api: FakeApi, shell: Shell, time: FakeTime) -> None:
    time.run_in_waits(lambda: api.rows["gate"].append(row("gate", 2**53 + 1, 5)))
    assert tail_ids(shell, "--type", "gate", "--count", "1") == [2**53 + 1]


def test_an_unknown_file_exits_with_3(shell: Shell) -> None:
    assert tail_ids(shell, "--file", "zzzzzzzzzzz9", code=3) == []


def test_one_file_is_followed_by_its_uuid(api: FakeApi, shell: Shell) -> None:
    api.on("GET", "/files/aB3dE5fG7hJ9", FILE)
    api.rows["view"] = [row("view", 2), row("view", 3, fileUuid=UUID.format(2))]
    assert tail_ids(shell, "--file", "aB3dE5fG7hJ9", "--from", "start", "--once") == [2]


# --- output ----------------------------------------------------------------------------------------------------------


def test_a_terminal_gets_a_line_per_row(api: FakeApi, shell: Shell) -> None:
    api.rows["view"] = [row("view", 2), row("view", 3, country=None, pagesViewed=1, timeMs=0, fileName="a\x1b[2J.pdf")]
    del api.rows["view"][1]["country"]
    shell.tty = True
    first, second = shell("events", "tail", "-n", "5", "--once").lines
    assert first.split("  ")[1:] == ["view", "deck.pdf", "DE", "3 pages", "1m 42s", "#2"]
    assert second.split("  ")[1:] == ["view", "a\\x1b[2J.pdf", "1 page", "0s", "#3"]
    assert first[2] == first[5] == ":"


def test_a_row_of_another_day_shows_its_date(api: FakeApi, shell: Shell, time: FakeTime) -> None:
    api.add("view", 2)
    time.wall += 3 * 86_400
    shell.tty = True
    assert shell("events", "tail", "--once").out.startswith(strftime("%Y-%m-%d ", localtime(BASE + 2)))


def test_types_are_aligned_if_several_streams_are_followed(api: FakeApi, shell: Shell) -> None:
    api.add("view", 2)
    api.rows["gate"] = [row("gate", 2, 3, fields={"email": "ann@example.com", "company": "ACME"})]
    shell.tty = True
    view, gate = shell("events", "tail", "--type", "all", "--once").lines
    assert "  view      deck.pdf  DE" in view
    assert "  gate      deck.pdf  email=ann@example.com company=ACME  #2" in gate


def test_a_pipe_gets_tab_separated_values(api: FakeApi, shell: Shell) -> None:
    api.add("view", 2)
    done = shell("events", "tail", "--from", "start", "--once")
    assert done.out == f"view\t2\t2026-09-21T14:13:22.000Z\t{UUID.format(1)}\tdeck.pdf\tDE\t3\t102000\t\n"


def test_json_rows_are_untouched(api: FakeApi, shell: Shell) -> None:
    api.rows["gate"] = [row("gate", 2**60, 5, zebra={"b": None, "a": [1.0]})]
    done = shell("events", "tail", "--type", "gate", "--from", "start", "--once", "--json")
    assert done.out == json.dumps(api.rows["gate"][0], separators=(",", ":")) + "\n"


def test_fields_and_template_work_row_by_row(api: FakeApi, shell: Shell) -> None:
    api.add("view", 2, 3)
    start = ("events", "tail", "--from", "start", "--once")
    assert shell(*start, "--fields", "id,fileName").lines == ["2\tdeck.pdf", "3\tdeck.pdf"]
    assert shell(*start, "--template", "{type}:{id}").lines == ["view:2", "view:3"]


# --- stop conditions -------------------------------------------------------------------------------------------------


def test_count_stops_in_the_middle_of_a_page(api: FakeApi, shell: Shell) -> None:
    api.add("view", *range(2, 200))
    assert tail_ids(shell, "--from", "start", "--count", "7") == list(range(2, 9))


@pytest.mark.parametrize(("expression", "shown"), [
    ("country == 'FR'", [2, 3, 4]),
    ("pagesViewed > `10`", [2, 3]),
    ("fields.email", None),
    ("contains(fileName, 'z')", None),
])  # fmt: skip
def test_until_match_stops_after_the_first_matching_row(
    api: FakeApi, shell: Shell, expression: str, shown: list[int] | None
) -> None:
    api.rows["view"] = [row("view", 2), row("view", 3, pagesViewed=11), row("view", 4, country="FR"), row("view", 5)]
    code = 0 if shown else 124
    expected = shown or [2, 3, 4, 5]
    options = ("--from", "start", "--until-match", expression, "--timeout", "5m")
    assert tail_ids(shell, *options, code=code) == expected


def test_until_match_treats_zero_as_true_like_jmespath(api: FakeApi, shell: Shell) -> None:
    api.rows["view"] = [row("view", 2, timeMs=0), row("view", 3)]
    assert tail_ids(shell, "--from", "start", "--until-match", "timeMs") == [2]


@pytest.mark.parametrize("options", [("--count", "3"), ("--until-match", "country == 'FR'")])
def test_a_goal_that_is_not_reached_in_time_exits_with_124(
    api: FakeApi, shell: Shell, time: FakeTime, options: tuple[str, ...]
) -> None:
    api.add("view", 2)
    assert tail_ids(shell, "--from", "start", *options, "--timeout", "5m", code=124) == [2]
    assert time.passed == pytest.approx(300)


def test_a_goal_that_is_not_reached_is_an_error_on_stderr(api: FakeApi, shell: Shell) -> None:
    line = ("events", "tail", "--from", "start", "--timeout", "5m")
    done = shell(*line, "--count", "3", "--json")
    assert (done.code, done.error["exit"], done.error["code"]) == (124, 124, "deadline")
    assert shell(*line, "--count", "3").err.splitlines()[-1].startswith("error: timed out")
    assert "timed out" not in shell(*line).err  # there was no goal


def test_a_timeout_without_a_goal_is_a_success(shell: Shell, time: FakeTime) -> None:
    assert tail_ids(shell, "--timeout", "90s") == []
    assert time.passed == pytest.approx(90)


def test_idle_stops_after_a_time_without_rows(api: FakeApi, shell: Shell, time: FakeTime) -> None:
    time.run_in_waits(*[None] * 9, lambda: api.add("view", 2))
    assert tail_ids(shell, "--idle", "30s") == [2]
    assert 35 < time.passed < 60


@pytest.mark.parametrize("until", ["2026-09-21T14:15:20Z", "2m"])
def test_until_stops_at_a_time(shell: Shell, time: FakeTime, until: str) -> None:
    assert tail_ids(shell, "--until", until) == []
    assert time.passed == pytest.approx(120, abs=0.01)


def test_until_a_time_of_day_means_its_next_occurrence(shell: Shell, time: FakeTime) -> None:
    assert tail_ids(shell, "--until", "00:00") == []
    assert 0 < time.passed <= 86_400
    assert strftime("%H:%M:%S", localtime(time.wall + 0.001)) == "00:00:00"


@pytest.mark.parametrize("options", [
    ("--until-match", "country ="), ("--until", "later"), ("--until", "25:00"), ("--from", "then"), ("--count", "0"),
    ("--from", "5", "--type", "view,download"), ("--timeout", "soon"), ("--overlap", "101"), ("--reset",),
    ("--cursor", "a", "--cursor-file", "b"), ("--cursor", "a", "--no-cursor"), ("--cursor", "../a"), ("--cursor", ""),
    ("--exec", "'"), ("--exec", ""), ("--from", "2147483648"), ("--from", "-1"),
    ("--cursor-file", ""), ("--cursor-file", "/"), ("--cursor-file", "/dev/full"),
])  # fmt: skip
def test_invalid_options_exit_with_2(shell: Shell, options: tuple[str, ...]) -> None:
    done: CommandResult = shell("events", "tail", *options)
    assert (done.code, done.out) == (2, "")
