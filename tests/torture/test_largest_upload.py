"""The short form of ``largest_upload``: the 20 MB of Free."""

from pathlib import Path

from tests.torture import largest_upload


def test_the_maximum_size_is_accepted_and_one_byte_more_is_rejected(tmp_path: Path) -> None:
    assert largest_upload.check_largest(tmp_path, "free") == []


def test_slow_and_failed_requests_of_another_client_are_problems() -> None:
    waits_ms = [1.0] * 90 + [60.0] * 10
    watch = largest_upload.ResourceWatch(None, failures=1, waits_ms=waits_ms)  # type: ignore[arg-type]
    assert watch.find_problems("an upload", most_wait_ms=50) == [
        "an upload: 1 requests of another client failed",
        "an upload: another client waits 60 ms",
    ]
