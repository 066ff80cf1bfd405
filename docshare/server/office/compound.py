"""Read the directory of an OLE compound file: a .ppt, a .doc, or an encrypted office document."""

import struct
from collections.abc import Iterator
from typing import BinaryIO

_SIGNATURE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_HEADER_BYTES = 512
_FAT_SECTORS_IN_HEADER = 109  # sector numbers of the allocation table that the header holds
_ENTRY_BYTES = 128
_MAX_ENTRIES = 65_536
_MAX_SECTOR = 0xFFFFFFFA  # greater numbers have special meanings
_NO_ENTRY = 0xFFFFFFFF
_ROOT_ENTRY_TYPE = 5


class CompoundFileError(Exception):
    """The directory cannot be read."""


def read_root_names(file: BinaryIO) -> set[str]:
    """Return the lowercase names of the streams and storages in the root of the compound file ``file``.

    Ignores embedded documents, which are below the root. Reads at most 65,536 entries. Raises CompoundFileError.
    """
    entries = _read_entries(_SectorReader(file))
    if not entries or entries[0][66] != _ROOT_ENTRY_TYPE:
        raise CompoundFileError("root entry is missing")
    names: set[str] = set()
    seen: set[int] = set()
    waiting = [_read_links(entries[0])[2]]
    while waiting:
        number = waiting.pop()
        if number == _NO_ENTRY or number in seen:
            continue
        if number >= len(entries):
            raise CompoundFileError("invalid entry number")
        seen.add(number)
        left, right, _ = _read_links(entries[number])
        names.add(_read_name(entries[number]))
        waiting += (left, right)
    return names


class _SectorReader:
    """Reads the sector chains of a compound file on demand."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        file.seek(0)
        header = file.read(_HEADER_BYTES)
        if len(header) < _HEADER_BYTES or not header.startswith(_SIGNATURE):
            raise CompoundFileError("header is missing")
        shift = int.from_bytes(header[30:32], "little")
        if shift not in (9, 12):
            raise CompoundFileError("unknown sector size")
        self.size = 1 << shift
        self._count = file.seek(0, 2) // self.size
        self.directory = int.from_bytes(header[48:52], "little")
        self._next_list_sector, list_sector_count = struct.unpack_from("<2L", header, 68)
        self._list_sector_count = min(list_sector_count, self._count)
        self._table_sectors: list[int] = list(struct.unpack_from(f"<{_FAT_SECTORS_IN_HEADER}L", header, 76))
        self._table: dict[int, list[int]] = {}

    def chain(self, number: int) -> Iterator[bytes]:
        """Yield the sectors of the chain that starts at ``number``. A circular chain never ends."""
        while number <= _MAX_SECTOR:
            yield self._sector(number)
            number = self._next_sector(number)

    def _sector(self, number: int) -> bytes:
        if number >= self._count:
            raise CompoundFileError("sector is beyond the end of the file")
        self._file.seek((number + 1) * self.size)
        return self._file.read(self.size).ljust(self.size, b"\0")

    def _read_numbers(self, number: int) -> list[int]:
        return list(struct.unpack(f"<{self.size // 4}L", self._sector(number)))

    def _next_sector(self, number: int) -> int:
        """Return the number of the sector that follows ``number`` in its chain, from the allocation table."""
        page, at = divmod(number, self.size // 4)
        if page not in self._table:
            self._table[page] = self._read_numbers(self._find_table_sector(page))
        return self._table[page][at]

    def _find_table_sector(self, page: int) -> int:
        """Return the number of the sector that holds ``page`` of the allocation table."""
        while page >= len(self._table_sectors) and self._list_sector_count:
            self._list_sector_count -= 1
            *sectors_listed, self._next_list_sector = self._read_numbers(self._next_list_sector)
            self._table_sectors += sectors_listed
        if page >= len(self._table_sectors):
            raise CompoundFileError("allocation table is too short")
        return self._table_sectors[page]


def _read_entries(sectors: _SectorReader) -> list[bytes]:
    entries: list[bytes] = []
    for sector in sectors.chain(sectors.directory):
        entries += (sector[at : at + _ENTRY_BYTES] for at in range(0, sectors.size, _ENTRY_BYTES))
        if len(entries) > _MAX_ENTRIES:
            raise CompoundFileError("too many entries")
    return entries


def _read_links(entry: bytes) -> tuple[int, int, int]:
    """Return the numbers of the left sibling, the right sibling and the first child of an entry."""
    left, right, child = struct.unpack_from("<3L", entry, 68)
    return left, right, child


def _read_name(entry: bytes) -> str:
    length = int.from_bytes(entry[64:66], "little")
    return entry[: max(0, min(length, 64) - 2)].decode("utf-16-le", "replace").lower()
