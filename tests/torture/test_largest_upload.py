"""The short form of ``largest_upload``: the 20 MB of Free."""

from pathlib import Path

from tests.torture import largest_upload


def test_the_maximum_size_is_accepted_and_one_byte_more_is_rejected(tmp_path: Path) -> None:
    assert largest_upload.check_largest(tmp_path, "free") == []
