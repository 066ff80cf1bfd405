"""Encrypted files have the format of ``segments``, byte for byte, and every change of one is detected.

The format is written a second time here: HKDF with ``hmac`` alone and AES-256-GCM with another interface than the
product uses, both checked with the vectors of their standards.
"""

import hashlib
import hmac
import io
import os
import random
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import BinaryIO, cast

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import GCM
from hypothesis import given, settings
from hypothesis import strategies as st

from docshare.server.store.segments import (
    DamagedBytesError,
    SegmentReader,
    SegmentWriter,
    compute_stored_size,
    decrypt_blocks,
    encrypt_bytes,
    is_encrypted,
)

SEGMENT = 65536
STORED = SEGMENT + 16
HEADER = 40
SIZES = (0, 1, 65535, 65536, 65537, 131072, 131073, 200_000)
KEY, SALT = bytes(range(32)), bytes(range(100, 132))
CONTENT = random.Random(16).randbytes(200_000)


def hkdf(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    """Return key material as RFC 5869 derives it."""
    extracted = hmac.new(salt, secret, hashlib.sha256).digest()
    out, block = b"", b""
    for number in range(1, 256):
        if len(out) >= length:
            break
        block = hmac.new(extracted, block + info + bytes([number]), hashlib.sha256).digest()
        out += block
    return out[:length]


def seal_gcm(key: bytes, nonce: bytes, plain: bytes, additional: bytes = b"") -> bytes:
    """Return the ciphertext and its tag."""
    encryptor = Cipher(AES(key), GCM(nonce)).encryptor()
    encryptor.authenticate_additional_data(additional)
    return encryptor.update(plain) + encryptor.finalize() + encryptor.tag


def open_gcm(key: bytes, nonce: bytes, sealed: bytes) -> bytes:
    """Return the plain bytes. Raises InvalidTag."""
    decryptor = Cipher(AES(key), GCM(nonce, sealed[-16:])).decryptor()
    return decryptor.update(sealed[:-16]) + decryptor.finalize()


def encrypt_by_hand(content: bytes, key: bytes, salt: bytes, context: bytes = b"") -> bytes:
    """Return ``content`` in the format that ``segments`` describes."""
    file_key = hkdf(key, salt, b"docshare segments\x00" + context, 32)
    pieces = [content[start : start + SEGMENT] for start in range(0, len(content), SEGMENT)] or [b""]
    out = b"dshare\x00\x01" + salt
    for number, piece in enumerate(pieces):
        is_last = number == len(pieces) - 1
        out += seal_gcm(file_key, number.to_bytes(11, "big") + (b"\x01" if is_last else b"\x00"), piece)
    return out


def decrypt_by_hand(stored: bytes, key: bytes, context: bytes = b"") -> bytes:
    """Return the plain bytes of a file in that format. Raises InvalidTag."""
    assert stored[:8] == b"dshare\x00\x01"
    file_key = hkdf(key, stored[8:HEADER], b"docshare segments\x00" + context, 32)
    out, rest, number = b"", stored[HEADER:], 0
    while len(rest) > STORED:
        out += open_gcm(file_key, number.to_bytes(11, "big") + b"\x00", rest[:STORED])
        rest, number = rest[STORED:], number + 1
    return out + open_gcm(file_key, number.to_bytes(11, "big") + b"\x01", rest)


def open_memory(stored: bytes) -> BinaryIO:
    """Return an unbuffered file with a descriptor, which is not on a disk."""
    file = os.fdopen(os.memfd_create("segments"), "r+b", buffering=0)
    file.write(stored)
    return cast("BinaryIO", file)


def open_reader(stored: bytes, key: bytes = KEY, context: bytes = b"") -> SegmentReader:
    return SegmentReader(open_memory(stored), key, context)


def read_file(stored: bytes, key: bytes = KEY, context: bytes = b"") -> bytes:
    with open_reader(stored, key, context) as reader:
        return reader.read()


def read_stream(stored: bytes, key: bytes = KEY, block: int = 1 << 20) -> bytes:
    return b"".join(decrypt_blocks(cut_blocks(stored, block), key))


def cut_blocks(stored: bytes, size: int) -> Iterator[bytes]:
    return (stored[start : start + size] for start in range(0, len(stored), size))


STORED_FILES = {size: encrypt_by_hand(CONTENT[:size], KEY, SALT) for size in SIZES}
READERS = pytest.mark.parametrize("read", [read_file, read_stream], ids=["file", "stream"])


def test_hkdf_of_these_tests_gives_the_vector_of_rfc_5869() -> None:
    derived = hkdf(b"\x0b" * 22, bytes(range(13)), bytes(range(0xF0, 0xFA)), 42)
    assert derived.hex() == ("3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865")


def test_gcm_of_these_tests_gives_the_vectors_of_its_authors() -> None:
    assert seal_gcm(bytes(32), bytes(12), bytes(16)).hex() == (
        "cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919"
    )
    plain = bytes.fromhex(
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
        "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39"
    )
    sealed = seal_gcm(
        bytes.fromhex("feffe9928665731c6d6a8f9467308308" * 2),
        bytes.fromhex("cafebabefacedbaddecaf888"),
        plain,
        bytes.fromhex("feedfacedeadbeeffeedfacedeadbeefabaddad2"),
    )
    assert sealed.hex() == (
        "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
        "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662"
        "76fc6ece0f4e1768cddf8853bb2d551b"
    )


@pytest.mark.parametrize("context", [b"", b"8f2/1/p2-800.jpg"])
@pytest.mark.parametrize("size", SIZES)
def test_the_product_writes_what_is_written_by_hand(size: int, context: bytes) -> None:
    assert encrypt_bytes(CONTENT[:size], KEY, SALT, context) == encrypt_by_hand(CONTENT[:size], KEY, SALT, context)


@pytest.mark.parametrize("context", [b"", b"8f2/1/p2-800.jpg"])
@pytest.mark.parametrize("size", SIZES)
def test_the_product_reads_what_is_written_by_hand(size: int, context: bytes) -> None:
    stored = encrypt_by_hand(CONTENT[:size], KEY, SALT, context)
    assert read_file(stored, KEY, context) == CONTENT[:size]
    if not context:
        assert read_stream(stored) == CONTENT[:size]


@pytest.mark.parametrize("size", SIZES)
def test_what_the_product_writes_is_read_by_hand(size: int) -> None:
    assert decrypt_by_hand(encrypt_bytes(CONTENT[:size], KEY, SALT, b"name"), KEY, b"name") == CONTENT[:size]


@pytest.mark.parametrize("size", SIZES)
def test_the_stored_size_is_known_beforehand(size: int) -> None:
    stored = encrypt_bytes(CONTENT[:size], KEY, SALT)
    assert compute_stored_size(size) == len(stored)
    assert is_encrypted(stored[:8])
    assert not is_encrypted(CONTENT[:8])
    with open_reader(stored) as reader:
        assert reader.size == size


@settings(max_examples=60)
@given(size=st.integers(0, 200_000), cuts=st.lists(st.integers(0, 200_000), max_size=8))
def test_blocks_of_any_size_are_written_alike(size: int, cuts: list[int]) -> None:
    file = io.BytesIO()
    writer = SegmentWriter(file, KEY, SALT)
    borders = [0, *sorted(min(cut, size) for cut in cuts), size]
    for start, end in pairwise(borders):
        writer.write(memoryview(CONTENT)[start:end])
    writer.finish()
    assert file.getvalue() == encrypt_bytes(CONTENT[:size], KEY, SALT)


def test_a_file_that_writes_less_than_asked_for_gets_everything() -> None:
    class SlowFile(io.BytesIO):
        def write(self, block: memoryview) -> int:  # type: ignore[override]
            return super().write(block[:5000])

    file = SlowFile()
    writer = SegmentWriter(file, KEY, SALT)
    writer.write(CONTENT)
    writer.finish()
    assert file.getvalue() == encrypt_by_hand(CONTENT, KEY, SALT)


@settings(max_examples=80)
@given(
    size=st.sampled_from(SIZES),
    reads=st.lists(st.tuples(st.integers(0, 210_000), st.integers(0, 150_000)), min_size=1, max_size=6),
)
def test_any_range_equals_the_slice(size: int, reads: list[tuple[int, int]]) -> None:
    plain = CONTENT[:size]
    with open_reader(STORED_FILES[size]) as reader:
        for start, count in reads:
            assert reader.seek(start) == start
            assert reader.read(count) == plain[start : start + count]
            assert reader.tell() == start + len(plain[start : start + count])


def test_positions_count_from_the_beginning_the_current_one_and_the_end() -> None:
    with open_reader(STORED_FILES[200_000]) as reader:
        assert reader.seek(-10, io.SEEK_END) == 199_990
        assert reader.read() == CONTENT[-10:]
        assert reader.seek(-70_000, io.SEEK_CUR) == 130_000
        assert reader.read(5) == CONTENT[130_000:130_005]
        assert reader.seek(-300_000, io.SEEK_CUR) == 0
        assert reader.readable()
        assert reader.seekable()


@pytest.mark.parametrize("start", [0, 1, 65535, 65536, 70_000])
def test_a_read_is_only_short_at_the_end(start: int) -> None:
    buffer = bytearray(150_000)
    with open_reader(STORED_FILES[200_000]) as reader:
        reader.seek(start)
        filled = min(150_000, 200_000 - start)
        assert reader.readinto(buffer) == filled
        assert buffer[:filled] == CONTENT[start : start + filled]
        reader.seek(199_999)
        assert reader.readinto(buffer) == 1
        assert reader.readinto(buffer) == 0


def test_more_segments_than_a_reader_keeps_are_read_back_and_forth() -> None:
    plain = CONTENT * 8
    with open_reader(encrypt_bytes(plain, KEY, SALT)) as reader:
        for start in [*range(0, len(plain), SEGMENT), *range(len(plain) - 10, 0, -SEGMENT)]:
            reader.seek(start)
            assert reader.read(100) == plain[start : start + 100]
        assert len(reader._segments) == 16


@READERS
def test_every_changed_bit_of_a_small_file_is_detected(read: Callable[[bytes], bytes]) -> None:
    stored = encrypt_bytes(b"a document of 24 letters", KEY, SALT)
    for place in range(len(stored)):
        for bit in range(8):
            changed = bytearray(stored)
            changed[place] ^= 1 << bit
            with pytest.raises(DamagedBytesError):
                read(bytes(changed))


@READERS
@pytest.mark.parametrize("size", SIZES)
def test_every_truncation_at_or_near_the_border_of_a_segment_is_detected(
    read: Callable[[bytes], bytes], size: int
) -> None:
    stored = STORED_FILES[size]
    borders = [0, 8, *range(HEADER, len(stored), STORED), len(stored)]
    lengths = {border + by for border in borders for by in (-40, -17, -16, -15, -1, 0, 1, 15, 16, 17, 40)}
    for length in sorted(each for each in lengths if 0 <= each < len(stored)):
        with pytest.raises(DamagedBytesError):
            read(stored[:length])


@READERS
@pytest.mark.parametrize("size", SIZES)
def test_appended_bytes_are_detected(read: Callable[[bytes], bytes], size: int) -> None:
    stored = STORED_FILES[size]
    for more in (b"\x00", bytes(15), bytes(16), bytes(17), bytes(STORED), stored[HEADER:], stored):
        with pytest.raises(DamagedBytesError):
            read(stored + more)


@READERS
@pytest.mark.parametrize("order", [(1, 0, 2, 3), (0, 2, 1, 3), (0, 1, 3), (0, 1, 2), (0, 0, 1, 2, 3), (3, 1, 2, 0)])
def test_segments_that_were_exchanged_repeated_or_left_out_are_detected(
    read: Callable[[bytes], bytes], order: tuple[int, ...]
) -> None:
    stored = encrypt_bytes(CONTENT[:131072] + CONTENT[:131072], KEY, SALT)
    pieces = list(cut_blocks(stored[HEADER:], STORED))
    assert len(pieces) == 4
    with pytest.raises(DamagedBytesError):
        read(stored[:HEADER] + b"".join(pieces[number] for number in order))


@READERS
def test_a_segment_of_another_file_under_the_same_key_is_detected(read: Callable[[bytes], bytes]) -> None:
    first, second = encrypt_bytes(CONTENT, KEY, SALT), encrypt_bytes(CONTENT, KEY, SALT[::-1])
    assert first[HEADER:] != second[HEADER:]
    with pytest.raises(DamagedBytesError):
        read(first[: HEADER + STORED] + second[HEADER + STORED :])
    with pytest.raises(DamagedBytesError):
        read(first[:8] + second[8:HEADER] + first[HEADER:])


def test_a_file_is_readable_with_its_own_context_only() -> None:
    contexts = (b"", b"8f2/1/p2-800.jpg", b"8f2/1/p3-800.jpg", b"8f2/1/p2-800.jp", b"\x01")
    for written in contexts:
        stored = encrypt_bytes(b"page 2", KEY, SALT, written)
        for read in contexts:
            if read == written:
                assert read_file(stored, KEY, read) == b"page 2"
            else:
                with pytest.raises(DamagedBytesError):
                    read_file(stored, KEY, read)


@READERS
@pytest.mark.parametrize("size", [0, 24, 200_000])
def test_another_key_reads_nothing(read: Callable[[bytes, bytes], bytes], size: int) -> None:
    for key in (bytes(32), KEY[::-1], bytes([KEY[0] ^ 1, *KEY[1:]]), KEY[:31] + bytes([KEY[31] ^ 128])):
        with pytest.raises(DamagedBytesError):
            read(STORED_FILES.get(size) or encrypt_bytes(CONTENT[:size], KEY, SALT), key)


@READERS
@pytest.mark.parametrize("content", [b"", b"%PDF-1.7", b"%PDF-1.7\n" * 100, b"dshare\x00\x02" + bytes(100)])
def test_a_file_in_clear_or_of_another_format_is_detected(read: Callable[[bytes], bytes], content: bytes) -> None:
    with pytest.raises(DamagedBytesError, match="not in the format"):
        read(content)


@pytest.mark.parametrize("segment", [0, 1, 2])
def test_a_reader_remembers_that_it_met_damage(segment: int) -> None:
    changed = bytearray(STORED_FILES[200_000])
    changed[HEADER + segment * STORED + 1000] ^= 4
    with open_reader(bytes(changed)) as reader:
        for other in {0, 1, 2} - {segment}:
            reader.seek(other * SEGMENT)
            assert reader.read(SEGMENT) == CONTENT[other * SEGMENT :][:SEGMENT]
        assert not reader.is_damaged
        reader.seek(segment * SEGMENT)
        with pytest.raises(DamagedBytesError, match=f"segment {segment} "):
            reader.read(1)
        assert reader.is_damaged
        with pytest.raises(DamagedBytesError):
            reader.verify()


def test_a_damaged_last_segment_is_detected_when_the_file_is_opened() -> None:
    changed = bytearray(STORED_FILES[200_000])
    changed[-1] ^= 1
    with pytest.raises(DamagedBytesError, match="segment 3 "):
        open_reader(bytes(changed))


def test_verify_reads_every_segment_of_an_intact_file() -> None:
    with open_reader(STORED_FILES[200_000]) as reader:
        reader.verify()
        assert reader.tell() == 0


def test_a_file_that_is_cut_while_it_is_open_never_gives_a_short_read() -> None:
    file = open_memory(STORED_FILES[200_000])
    with SegmentReader(file, KEY) as reader:
        assert reader.read(10) == CONTENT[:10]
        file.truncate(HEADER + STORED + 5000)
        reader.seek(SEGMENT)
        with pytest.raises(DamagedBytesError):
            reader.readinto(bytearray(10_000))
        assert reader.is_damaged


@settings(max_examples=60)
@given(size=st.sampled_from(SIZES), block=st.integers(100, 300_000))
def test_blocks_of_any_size_are_decrypted_alike(size: int, block: int) -> None:
    assert read_stream(STORED_FILES[size], block=block) == CONTENT[:size]


@pytest.mark.parametrize("block", [1, 7, 39, 40, 41])
def test_blocks_smaller_than_the_header_are_decrypted(block: int) -> None:
    assert read_stream(encrypt_bytes(b"a document", KEY, SALT), block=block) == b"a document"
    with pytest.raises(DamagedBytesError):
        read_stream(encrypt_bytes(b"a document", KEY, SALT)[:30], block=block)


def test_bytes_of_a_stream_arrive_while_it_is_read() -> None:
    blocks = cut_blocks(STORED_FILES[200_000], STORED)
    plain = decrypt_blocks(blocks, KEY)
    assert next(plain) == CONTENT[:SEGMENT]
    assert next(blocks, b"") != b""


def test_a_stream_never_yields_bytes_of_a_damaged_segment() -> None:
    changed = bytearray(STORED_FILES[200_000])
    changed[HEADER + STORED + 1] ^= 1
    plain = decrypt_blocks(cut_blocks(bytes(changed), 1000), KEY)
    assert next(plain) == CONTENT[:SEGMENT]
    with pytest.raises(DamagedBytesError):
        next(plain)


def test_closing_a_reader_closes_its_file() -> None:
    file = open_memory(STORED_FILES[1])
    SegmentReader(file, KEY).close()
    assert file.closed
