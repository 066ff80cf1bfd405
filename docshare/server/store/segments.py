"""Encrypt files in segments, so that any range can be read, and every change, cut or exchange is detected.

The construction is STREAM (Hoang, Reyhanitabar, Rogaway and Vizár: Online Authenticated-Encryption and its
Nonce-Reuse Misuse-Resistance, 2015) with AES-256-GCM, as age uses it with ChaCha20-Poly1305::

    header:  8 bytes MAGIC, 32 bytes salt
    key:     HKDF-SHA256(data key, salt, info = "docshare segments" NUL context), 32 bytes
    segment: up to 64 KiB, encrypted, and a tag of 16 bytes
    nonce:   number of the segment from 0 (11 bytes, big-endian), 1 for the last segment and 0 for any other (1 byte)

An empty file is one empty segment. The nonce binds each segment to its position, and the last one to the end of the
file. The salt gives each file a key of its own. ``context`` names a file that is derived from a document, such as the
image of one page, so that no two files under one data key can be exchanged.
"""

import errno
import hmac
import io
import os
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import IO, Any, BinaryIO

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

MAGIC = b"dshare\x00\x01"
KEY_BYTES = 32
SALT_BYTES = 32
HEADER_BYTES = len(MAGIC) + SALT_BYTES
SEGMENT_BYTES = 64 * 1024
TAG_BYTES = 16
_STORED_BYTES = SEGMENT_BYTES + TAG_BYTES
_SEGMENTS_PER_READ = 4  # a third of the system calls: a download gets 7 % faster
_INFO = b"docshare segments\x00"
_CACHED_SEGMENTS = 16  # of one reader: pdfium goes back and forth between the tables and the objects of a document


class DamagedBytesError(OSError):
    """Stored bytes were changed, cut or exchanged, or belong to another key."""

    def __init__(self, detail: str) -> None:
        super().__init__(errno.EIO, detail)


def compute_stored_size(size: int) -> int:
    """Return how many bytes a file of ``size`` bytes takes once it is encrypted."""
    return HEADER_BYTES + size + TAG_BYTES * max(1, -(-size // SEGMENT_BYTES))


def is_encrypted(head: bytes | bytearray) -> bool:
    """Return whether a file that begins with ``head``, of at least 8 bytes, is in this format."""
    return head.startswith(MAGIC)


class SegmentWriter:
    """Encrypts what is written to it into the empty ``file``; ``finish`` writes the last segment.

    Parameters: ``data_key`` of 32 bytes; ``salt`` 32 random bytes; ``context`` the name of a derived file.
    """

    def __init__(self, file: IO[bytes], data_key: bytes, salt: bytes, context: bytes = b"") -> None:
        self._file = file
        self._cipher = _make_cipher(data_key, salt, context)
        self._rest = bytearray()
        self._count = 0
        _write_all(file, MAGIC + salt)

    def write(self, block: bytes | bytearray | memoryview) -> None:
        """Encrypt ``block``. Raises OSError."""
        view = memoryview(block)
        # Where a segment ends, one byte more must be there: the last segment is known only then.
        if self._rest and len(self._rest) + len(view) > SEGMENT_BYTES:
            room = SEGMENT_BYTES - len(self._rest)
            self._rest += view[:room]
            view = view[room:]
            self._write_segment(self._rest, is_last=False)
            self._rest = bytearray()
        start = 0
        while len(view) - start > SEGMENT_BYTES:
            self._write_segment(view[start : start + SEGMENT_BYTES], is_last=False)
            start += SEGMENT_BYTES
        self._rest += view[start:]

    def finish(self) -> None:
        """Write the last segment. Raises OSError."""
        self._write_segment(self._rest, is_last=True)
        self._rest = bytearray()  # in clear, and this object may exist for long

    def _write_segment(self, content: bytearray | memoryview, *, is_last: bool) -> None:
        _write_all(self._file, self._cipher.encrypt(_make_nonce(self._count, is_last), content, None))
        self._count += 1


class SegmentReader(io.RawIOBase):
    """A seekable reader of the plain bytes of ``file``, an unbuffered file with a descriptor, which it owns.

    ``is_damaged``: a read has failed because a segment is not as it was written; libraries may swallow the error.
    ``on_damage`` is called then.
    Not thread-safe. Raises DamagedBytesError, also if the file does not end with its last segment.
    """

    def __init__(self, file: BinaryIO, data_key: bytes, context: bytes = b"") -> None:
        super().__init__()
        self.file = file
        self.is_damaged = False
        self.on_damage: Callable[[], None] = lambda: None
        self._at = 0
        self._segments: OrderedDict[int, bytearray] = OrderedDict()
        self._stored = bytearray()  # the segments that are being read, as they are stored
        self.status = os.fstat(file.fileno())
        stored = self.status.st_size - HEADER_BYTES
        # A small file is read by one system call: under load, a thread waits for the interpreter after each.
        is_small = stored <= _STORED_BYTES
        start = os.pread(file.fileno(), HEADER_BYTES + (_STORED_BYTES if is_small else 0), 0)
        header = start[:HEADER_BYTES]
        self._count = max(1, -(-stored // _STORED_BYTES))
        self.size = stored - self._count * TAG_BYTES
        is_cut = self.size < (self._count - 1) * SEGMENT_BYTES  # the last segment has no room for its tag
        if len(header) < HEADER_BYTES or not is_encrypted(header) or is_cut:
            raise DamagedBytesError("the file is not in the format of encrypted files")
        self._cipher = _make_cipher(data_key, header[len(MAGIC) :], context)
        if is_small:
            self._segments[0] = only = bytearray(self.size)
            self._decrypt_segments(0, memoryview(start)[HEADER_BYTES:], memoryview(only))
        else:
            self._get_segment(self._count - 1)

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the position in the plain bytes."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to a position of the plain bytes."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self.size}[whence]
        self._at = max(0, start + offset)
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Fill ``buffer`` as far as the file goes. Raises DamagedBytesError."""
        view = memoryview(buffer).cast("B")
        done, wanted = 0, min(len(view), max(0, self.size - self._at))
        while done < wanted:
            number, start = divmod(self._at, SEGMENT_BYTES)
            if start == 0 and (whole := min((wanted - done) // SEGMENT_BYTES, _SEGMENTS_PER_READ)):
                count = whole * SEGMENT_BYTES
                self._read_segments(number, view[done : done + count])  # without a copy
            else:
                block = memoryview(self._get_segment(number))[start : start + wanted - done]
                count = len(block)
                view[done : done + count] = block
            done += count
            self._at += count
        return done

    def readall(self) -> bytes:
        """Return the rest of the plain bytes. Raises DamagedBytesError."""
        rest = bytearray(max(0, self.size - self._at))
        self.readinto(rest)
        return bytes(rest)

    def verify(self) -> None:
        """Read all segments. Raises DamagedBytesError."""
        for number in range(self._count):
            self._get_segment(number)

    def close(self) -> None:
        """Close the file."""
        self._segments.clear()
        self.file.close()
        super().close()

    def _get_segment(self, number: int) -> bytearray:
        found = self._segments.get(number)
        if found is not None:
            self._segments.move_to_end(number)
            return found
        found = bytearray(min(SEGMENT_BYTES, self.size - number * SEGMENT_BYTES))
        self._read_segments(number, memoryview(found))
        self._segments[number] = found
        if len(self._segments) > _CACHED_SEGMENTS:
            self._segments.popitem(last=False)
        return found

    def _read_segments(self, first: int, plain: memoryview) -> None:
        """Decrypt segments from ``first`` on into ``plain``, which has the size of their plain bytes."""
        count = max(1, -(-len(plain) // SEGMENT_BYTES))
        if len(self._stored) < count * _STORED_BYTES:
            self._stored = bytearray(count * _STORED_BYTES)
        stored = memoryview(self._stored)[: len(plain) + count * TAG_BYTES]
        self.file.seek(HEADER_BYTES + first * _STORED_BYTES)
        length: int = self.file.readinto(stored)  # type: ignore[attr-defined]  # every open file has it
        self._decrypt_segments(first, stored[:length], plain)

    def _decrypt_segments(self, first: int, stored: memoryview, plain: memoryview) -> None:
        for index in range(max(1, -(-len(plain) // SEGMENT_BYTES))):
            number, start = first + index, index * _STORED_BYTES
            nonce = _make_nonce(number, is_last=number == self._count - 1)
            try:
                self._cipher.decrypt_into(
                    nonce,
                    stored[start : start + _STORED_BYTES],
                    None,
                    plain[index * SEGMENT_BYTES : (index + 1) * SEGMENT_BYTES],
                )
            except (InvalidTag, ValueError) as error:  # a ValueError if the file has become shorter
                self.is_damaged = True
                self.on_damage()
                raise _make_error(number) from error


def encrypt_bytes(content: bytes, data_key: bytes, salt: bytes, context: bytes = b"") -> bytes:
    """Return ``content`` as an encrypted file. Parameters as for ``SegmentWriter``."""
    file = io.BytesIO()
    writer = SegmentWriter(file, data_key, salt, context)
    writer.write(content)
    writer.finish()
    return file.getvalue()


def decrypt_blocks(blocks: Iterable[bytes], data_key: bytes) -> Iterator[bytes]:
    """Yield the plain bytes of an encrypted file, whose bytes are ``blocks``, while they are read. Raises
    DamagedBytesError."""
    source = iter(blocks)
    rest = bytearray()
    while len(rest) < HEADER_BYTES and (block := next(source, b"")):
        rest += block
    if not is_encrypted(rest) or len(rest) < HEADER_BYTES:
        raise DamagedBytesError("the file is not in the format of encrypted files")
    cipher, number = _make_cipher(data_key, bytes(rest[len(MAGIC) : HEADER_BYTES]), b""), 0
    del rest[:HEADER_BYTES]
    for block in chain([b""], source):
        rest += block
        while len(rest) > _STORED_BYTES:  # more follows, so it is not the last one
            yield _decrypt(cipher, number, rest[:_STORED_BYTES], is_last=False)
            del rest[:_STORED_BYTES]
            number += 1
    yield _decrypt(cipher, number, rest, is_last=True)


def _decrypt(cipher: AESGCM, number: int, stored: bytes | bytearray, *, is_last: bool) -> bytes:
    try:
        return cipher.decrypt(_make_nonce(number, is_last), bytes(stored), None)
    except InvalidTag:
        raise _make_error(number) from None


def _make_error(number: int) -> DamagedBytesError:
    return DamagedBytesError(f"segment {number} was changed, or belongs to another file or key")


def _make_cipher(data_key: bytes, salt: bytes, context: bytes) -> AESGCM:
    extracted = hmac.digest(salt, data_key, "sha256")
    return AESGCM(hmac.digest(extracted, _INFO + context + b"\x01", "sha256"))


def _make_nonce(number: int, is_last: bool) -> bytes:
    return number.to_bytes(11) + bytes([is_last])


def _write_all(file: IO[bytes], block: bytes) -> None:
    view = memoryview(block)
    while view:
        view = view[file.write(view) or 0 :]
