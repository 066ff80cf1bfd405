"""Stored bytes are read in clear or decrypted, and never confused."""

import io
import os
from pathlib import Path

import pytest

from docshare.server.store.segments import DamagedBytesError, SegmentReader, encrypt_bytes
from docshare.server.store.stored_bytes import EncryptedSink, StoredBytes, decrypt_file, verify

KEY, SALT = bytes(range(32)), bytes(32)


def store(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "blob"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("content", [b"", b"dshare", b"%PDF-1.7 in clear" * 10])
def test_bytes_in_clear_are_read_as_they_are(tmp_path: Path, content: bytes) -> None:
    assert StoredBytes(store(tmp_path, content)).read_bytes() == content


def test_encrypted_bytes_are_decrypted(tmp_path: Path) -> None:
    path = store(tmp_path, encrypt_bytes(b"a document", KEY, SALT, b"page"))
    assert StoredBytes(path, KEY, b"page").read_bytes() == b"a document"
    assert os.fspath(StoredBytes(path, KEY)) == str(StoredBytes(path, KEY)) == str(path)


def test_encrypted_bytes_without_a_key_do_not_exist(tmp_path: Path) -> None:
    path = store(tmp_path, encrypt_bytes(b"a document", KEY, SALT))
    with pytest.raises(FileNotFoundError):
        StoredBytes(path).open()


@pytest.mark.parametrize("content", [b"", b"%PDF-1.7 in clear" * 10])
def test_bytes_in_clear_are_refused_where_encrypted_ones_are_expected(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(DamagedBytesError):
        StoredBytes(store(tmp_path, content), KEY).open()


def test_bytes_that_are_gone_do_not_exist(tmp_path: Path) -> None:
    for key in (None, KEY):
        with pytest.raises(FileNotFoundError):
            StoredBytes(tmp_path / "gone", key).open()


@pytest.mark.parametrize("key", [None, bytes(32)])
def test_a_file_that_cannot_be_decrypted_is_closed(tmp_path: Path, key: bytes | None) -> None:
    file = open(store(tmp_path, encrypt_bytes(b"a document", KEY, SALT)), "rb", buffering=0)  # noqa: SIM115
    with pytest.raises(OSError, match=r"destroyed|another file or key"):
        decrypt_file(file, key)
    assert file.closed


def test_the_data_key_is_not_shown() -> None:
    shown = repr(StoredBytes(Path("blob"), KEY))
    assert repr(KEY) not in shown
    assert KEY.hex() not in shown


def test_verify_finds_damage_behind_the_first_segment(tmp_path: Path) -> None:
    stored = bytearray(encrypt_bytes(bytes(200_000), KEY, SALT))
    stored[100_000] ^= 1
    with StoredBytes(store(tmp_path, bytes(stored)), KEY).open() as file:
        assert isinstance(file, SegmentReader)
        assert file.read(10) == bytes(10)
        with pytest.raises(DamagedBytesError):
            verify(file)


def test_verify_accepts_intact_bytes_and_bytes_in_clear(tmp_path: Path) -> None:
    with StoredBytes(store(tmp_path, encrypt_bytes(bytes(200_000), KEY, SALT)), KEY).open() as file:
        verify(file)
    with StoredBytes(store(tmp_path, b"in clear")).open() as file:
        verify(file)


def test_a_sink_can_begin_again_under_another_salt(tmp_path: Path) -> None:
    salts = iter([b"a" * 32, b"b" * 32])
    with open(tmp_path / "copy", "w+b") as file:
        sink = EncryptedSink(file, KEY, lambda count: next(salts), b"copy")
        sink.write(b"%PDF-1.7 first try" * 10_000)
        assert sink.read(8) == b"%PDF-1.7"
        assert sink.seek(0) == 0
        sink.truncate()
        assert sink.read(8) == b""
        assert sink.write(b"%PDF-2.0") == 8
        sink.write(b" second try")
        assert sink.read(5) == b"%PDF-"
        sink.finish()
    assert (tmp_path / "copy").read_bytes() == encrypt_bytes(b"%PDF-2.0 second try", KEY, b"b" * 32, b"copy")


def test_a_sink_encrypts_what_is_written_in_pieces() -> None:
    file = io.BytesIO()
    sink = EncryptedSink(file, KEY, bytes, b"copy")
    for _ in range(100):
        sink.write(bytes(3000))
    sink.finish()
    assert file.getvalue() == encrypt_bytes(bytes(300_000), KEY, SALT, b"copy")
