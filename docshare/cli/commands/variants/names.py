"""Resolve the ways to name a variant: UUID, short id, link, ``label:TEXT``, and ``-`` for ids on stdin.

The API identifies a variant by its file and UUID only, so names are looked up in the variant list of the file or, if no
file was given, in the lists of all files, newest first.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from docshare.cli.framework.arguments import FileResolver
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.inputs import read_ids
from docshare.cli.local import cache
from docshare.client.links import SCHEMES, extract_link_name
from docshare.contract.patterns import SHORT_ID, UUID

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context
    from docshare.client import Client

Row = Mapping[str, Any]

VARIANT_HELP = "UUID, short id, link, or label:TEXT."
VARIANTS_HELP = "UUID, short id, link, label:TEXT, or - for ids on stdin."
OF_FILE_HELP = "File of the variant. The default is to search all files."

_LABEL_PREFIX = "label:"
_UNANNOUNCED_LISTS = 3  # number of lists to search before printing a note


class FileVariant(NamedTuple):
    """A Variant object and the id of its ``file``."""

    file: str
    variant: Row

    @property
    def uuid(self) -> str:
        """Return the UUID of the variant."""
        return str(self.variant["uuid"])

    @property
    def name(self) -> str:
        """Return the label of the variant, or its short id if it has none."""
        return str(self.variant.get("label") or short_id(self.variant))


def short_id(variant: Row) -> str:
    """Return the short id of a Variant, or the UUID if the server sends none."""
    return str(variant.get("shortId") or variant.get("uuid", ""))


class VariantResolver:
    """Resolves names to variants and fetches each list at most once. ``file``: where to search, None for all files."""

    def __init__(self, context: "Context", client: "Client", file: str | None) -> None:
        self._ctx = context
        self._client = client
        self._file = None if file is None else FileResolver(context, client).resolve(file)
        self._lists: dict[str, Sequence[Row]] = {}
        self._warned = False

    def resolve(self, word: str) -> FileVariant:
        """Return the variant named ``word``. Raise Stop (2) if it is invalid or ambiguous, Stop (3) if not found."""
        if word.startswith(_LABEL_PREFIX):
            return self._find_by_label(word.removeprefix(_LABEL_PREFIX).strip())
        name = _parse_id(word)
        for found in self._iterate_all():
            if name in (found.variant.get("shortId"), found.variant.get("uuid")):
                return found
        raise Stop(ExitCode.NOT_FOUND, f"variant {word} does not exist", hint="See: docshare variants list FILE")

    def resolve_all(self, words: Sequence[str]) -> list[FileVariant]:
        """Return the variants named by ``words``, in order and without duplicates; ``-`` reads ids from stdin."""
        found: dict[str, FileVariant] = {}
        for word in words:
            for name in read_ids(self._ctx) if word == "-" else [word]:
                one = self.resolve(name)
                found[one.uuid] = one
        if not found:
            raise Stop(ExitCode.USAGE, "no variants given")
        return list(found.values())

    def _find_by_label(self, label: str) -> FileVariant:
        found = [each for each in self._iterate_all() if each.variant.get("label") == label]
        if not found:
            raise Stop(ExitCode.NOT_FOUND, f"no variant with the label {label!r}", hint="See: docshare variants list")
        if len(found) > 1:
            ids = ", ".join(f"{short_id(each.variant)} (file {each.file})" for each in found)
            raise Stop(ExitCode.USAGE, f"{len(found)} variants have the label {label!r}: {ids}", hint="Use an id.")
        return found[0]

    def _iterate_all(self) -> Iterator[FileVariant]:
        for file in self._files:
            for variant in self._list_variants(file):
                yield FileVariant(file, variant)

    @cached_property
    def _files(self) -> list[str]:
        if self._file is not None:
            return [self._file]
        files = self._client.files.list()
        cache.remember_files(self._ctx, files)
        return [str(file["uuid"]) for file in files]

    def _list_variants(self, file: str) -> Sequence[Row]:
        if file not in self._lists:
            if len(self._lists) == _UNANNOUNCED_LISTS and not self._warned:
                self._warned = True
                self._ctx.note(f"searching {len(self._files)} files, one request each; --file FILE is faster")
            self._client.pace()
            self._lists[file] = self._client.variants.list(file)
        return self._lists[file]


def _parse_id(word: str) -> str:
    """Return the id that ``word`` is or that its link contains; raise Stop (2) for anything else."""
    name = extract_link_name(word) if word.startswith(SCHEMES) else word
    if UUID.fullmatch(name):
        return name.lower()
    if SHORT_ID.fullmatch(name):
        return name
    raise Stop(ExitCode.USAGE, f"{word!r} is not a variant", hint=f"Use {VARIANT_HELP}")
