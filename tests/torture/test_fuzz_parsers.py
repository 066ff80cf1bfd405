"""The short form of ``fuzz_parsers``: random bytes, and one second of fuzzing guided by coverage."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.torture import fuzz_parsers, fuzz_targets

PIECES = [b"=", b"'", b'"', b"|", b"\r\n", b"\0", b"//", b"..", b"%00", b"[::1]", b"127.1", b"@", b"\xff", b"9" * 30]
BYTES = st.binary(max_size=80) | st.lists(st.sampled_from(PIECES) | st.binary(max_size=6), max_size=10).map(b"".join)


def test_all_targets_are_listed() -> None:
    assert list(fuzz_targets.TARGETS) == list(fuzz_parsers._NAMES)


@pytest.mark.parametrize("name", fuzz_targets.TARGETS)
def test_no_parser_fails_on_random_bytes(name: str) -> None:
    @settings(max_examples=40 if name == "id_router" else 300, derandomize=True, database=None)
    @given(BYTES)
    def run(data: bytes) -> None:
        fuzz_targets.TARGETS[name](data)

    run()


def test_guided_fuzzing_runs() -> None:
    assert fuzz_parsers.run("csv_sheet", 1)


def test_a_target_that_does_not_end_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fuzz_parsers, "_GRACE_SECONDS", -9)
    assert not fuzz_parsers.run("csv_sheet", 10)
    assert "still running after 1 s" in capsys.readouterr().out
