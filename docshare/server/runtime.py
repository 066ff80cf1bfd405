"""Everything outside the process, in one object: built once by ``build_runtime``, replaced completely in tests.

This is the only module of the server that reads a clock or generates random values.
"""

import os
import secrets
import string
import time
import uuid
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from docshare.server.config import Config
from docshare.server.denial_counter import DenialCounter
from docshare.server.durations import Durations
from docshare.server.fair_slots import FairSlots
from docshare.server.http.proxy_probes import Probes, UntrustedProxies
from docshare.server.idle_memory import IdleMemory
from docshare.server.office.convert import OfficeConverter, find_program
from docshare.server.office.memory import find_memory_directory
from docshare.server.outbound.exchange import OutboundClient
from docshare.server.outbound.jwts import TokenVerifier
from docshare.server.outbound.location import make_locator
from docshare.server.outbound.mail import Mailer
from docshare.server.password_turns import PasswordTurns
from docshare.server.pdf.engine import PdfEngine
from docshare.server.pdf.pages import PageStore
from docshare.server.pdf.probe import ConfinementProbe
from docshare.server.rate_limits import RateLimiter
from docshare.server.store import postgresql_facts
from docshare.server.store.blobs import BlobStore, FolderStore
from docshare.server.store.database import Store
from docshare.server.store.identity import directory_id
from docshare.server.store.master_keys import KeyCommand, KeyFile
from docshare.server.store.vault import Vault

if TYPE_CHECKING:
    from docshare.server.outbound.shared_memory import SharedMemory

_SECRET_BYTES = 32
_BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase
_PREDICTABLE = Random()  # noqa: S311 - only for ids that nobody needs to guess


@dataclass(frozen=True)
class CostlyOwner:
    """The owner of costly documents, by whom their readers share ``Runtime.text_slots``; ``key`` as in ``Tenant``."""

    key: str


def _is_costly(who: Hashable) -> bool:
    return isinstance(who, CostlyOwner)


@dataclass(frozen=True)
class Runtime:
    """Everything outside the process that the server depends on.

    ``clock`` returns milliseconds since 1970 UTC; ``random_token(n)`` n random base62 characters; ``random_bytes(n)`` n
    random bytes; ``password_turns`` let networks take turns in checking passwords; ``text_slots`` limits the requests
    that read the text of many pages, which takes long for this process, and so for everybody; ``requests`` counts by
    method, route and status, ``attempts`` those of deliveries by outcome; ``locate(address)`` the two-letter country of
    an IP address or None; ``measure_lead()`` by how many ms ``clock`` is ahead of that of a shared database, negative
    if it is behind; ``uncertain_blobs`` the blobs that may have no row, because the transaction that writes it failed,
    each with the time (ms); ``shared`` the memory that instances share, None for a single instance; ``heartbeats`` when
    each background thread last checked for work, in ms by its name.
    """

    config: Config
    clock: Callable[[], int]
    random_token: Callable[[int], str]
    random_uuid: Callable[[], str]
    random_bytes: Callable[[int], bytes]
    db: Store
    blobs: BlobStore
    engine: PdfEngine
    pages: PageStore
    converter: OfficeConverter
    outbound: OutboundClient
    jwts: TokenVerifier
    mailer: Mailer
    vault: Vault
    locate: Callable[[str], str | None]
    limits: RateLimiter
    measure_lead: Callable[[], int] = lambda: 0
    uncertain_blobs: dict[str, int] = field(default_factory=dict)
    shared: "SharedMemory | None" = None
    denials: DenialCounter = field(default_factory=DenialCounter)
    password_turns: PasswordTurns = field(default_factory=lambda: PasswordTurns(random_bytes(_SECRET_BYTES)))
    key_uses: dict[str, int] = field(default_factory=dict)
    probes: Probes = field(default_factory=Probes)
    untrusted_proxies: UntrustedProxies = field(default_factory=UntrustedProxies)
    text_slots: FairSlots = field(default_factory=partial(FairSlots, 4, 12, _is_costly))
    heartbeats: dict[str, int] = field(default_factory=dict)
    confinement: ConfinementProbe = field(default_factory=ConfinementProbe)
    requests: Durations = field(default_factory=Durations)
    attempts: Durations = field(default_factory=Durations)
    idle_memory: IdleMemory = field(default_factory=IdleMemory)

    def close(self) -> None:
        """Stop the workers and close the database and the shared memory."""
        self.converter.close()
        self.pages.close()
        self.engine.close()
        self.db.close()
        if self.shared is not None:
            self.shared.close()


def current_time_ms() -> int:
    """Return the time in milliseconds since 1970, UTC."""
    return time.time_ns() // 1_000_000


def random_token(length: int, random_bits: Callable[[int], int] = secrets.randbits) -> str:
    """Return ``length`` base62 characters: the last digits of one random number, which has so many more that the bias
    is below 2**-64. ``random_bits(n)`` returns a number of n random bits."""
    number = random_bits(6 * length + 64)
    characters = []
    for _ in range(length):
        number, digit = divmod(number, 62)
        characters.append(_BASE62[digit])
    return "".join(characters)


def random_request_id() -> str:
    """Return 16 base62 characters. An id only connects a response with its line in the log, so nobody gains by
    guessing one; asking the system for each would let the thread wait for the interpreter
    (``tests.benchmarks.page_warm``)."""
    return random_token(16, _PREDICTABLE.getrandbits)


def random_uuid() -> str:
    """Return a random UUID in lower case."""
    return str(uuid.uuid4())


def random_bytes(length: int) -> bytes:
    """Return ``length`` random bytes."""
    return secrets.token_bytes(length)


def open_store(config: Config) -> Store:
    """Return the database of the instance: a file in the data directory, or PostgreSQL if the settings name one."""
    if config.database_url is None:
        return Store(config.database_path)
    from docshare.server.store.postgresql import PostgresqlStore  # its packages are an optional dependency

    return PostgresqlStore(config.database_url, config.threads)


def open_blobs(config: Config) -> BlobStore:
    """Return the store of document bytes: a folder of the data directory, another folder, or a bucket."""
    encrypt = random_bytes if config.encryption else None
    if config.storage is None:
        return FolderStore(config.data_dir / "blobs", config.data_dir / "tmp", _generate_blob_key, encrypt=encrypt)
    if isinstance(config.storage, Path):
        root, tmp = config.storage / "blobs", config.storage / "tmp"
        return FolderStore(root, tmp, _generate_blob_key, is_shared=True, encrypt=encrypt)
    from docshare.server.store.bucket import BucketStore  # its packages are an optional dependency

    return BucketStore(
        config.storage,
        config.data_dir,
        _generate_blob_key,
        os.environ,
        encrypt=encrypt,
        ca_bundle=config.ca_bundle,
        max_fetches=max(1, config.threads // 2),
    )


def _generate_blob_key() -> str:
    return random_token(32)


def open_vault(config: Config, *, may_create: bool = False) -> Vault:
    """Return the vault with the master keys of the settings, which are read on first use. ``may_create``: create a
    missing file of keys, as only the owner of the data directory does."""
    if config.key_command is not None:
        return Vault(KeyCommand(config.key_command), random_bytes)
    return Vault(KeyFile(config.vault_path, random_bytes, may_create=may_create), random_bytes)


def make_converter(config: Config) -> OfficeConverter:
    """Return the converter of office documents.

    LibreOffice reads files in clear, which may reach a disk only if all documents are stored in clear.
    """
    required = config.confinement == "required"
    if not config.encryption:
        return OfficeConverter(config.data_dir / "tmp", find_program(), required=required)
    prefix = memory_prefix(config.data_dir)
    return OfficeConverter(find_memory_directory(os.environ), find_program(), prefix=prefix, required=required)


def memory_prefix(data_dir: Path) -> str:
    """Return the prefix of the names of an instance's directories in memory."""
    return f"docshare-office-{directory_id(data_dir)}-"


def open_shared_memory(config: Config, vault: Vault) -> "SharedMemory | None":
    """Return the Redis server of the settings, not yet connected; None if the settings have none."""
    if config.redis_url is None:
        return None
    from docshare.server.outbound.shared_memory import SharedMemory  # its packages are an optional dependency

    return SharedMemory(config.redis_url, vault.fingerprint)


def build_limiter(clock: Callable[[], int], shared: "SharedMemory | None") -> RateLimiter:
    """Return the limiter of one server, whose windows are in ``shared`` if there is such a memory."""
    if shared is None:
        return RateLimiter(clock)
    from docshare.server.shared_windows import SharedWindows

    return RateLimiter(clock, shared=SharedWindows(shared, clock))


def build_runtime(config: Config, *, may_create_key: bool = False) -> Runtime:
    """Return the real runtime for ``config``; its data directory must exist. ``may_create_key``: see ``open_vault``."""
    required = config.confinement == "required"
    engine = PdfEngine(required=required)
    outbound = OutboundClient(config.ca_bundle, transfers=max(1, config.threads // 2))
    vault = open_vault(config, may_create=may_create_key)
    shared = open_shared_memory(config, vault)
    db = open_store(config)
    return Runtime(
        config=config,
        clock=current_time_ms,
        random_token=random_token,
        random_uuid=random_uuid,
        random_bytes=random_bytes,
        db=db,
        blobs=open_blobs(config),
        engine=engine,
        pages=PageStore(engine, config.cache_dir, random_bytes),
        converter=make_converter(config),
        outbound=outbound,
        jwts=TokenVerifier(outbound, current_time_ms),
        mailer=Mailer(config.smtp_url, config.ca_bundle),
        vault=vault,
        locate=make_locator(config.geoip),
        limits=build_limiter(current_time_ms, shared),
        measure_lead=partial(postgresql_facts.measure_lead, db, current_time_ms) if db.is_shared else lambda: 0,
        shared=shared,
        probes=Probes(shared),
        confinement=ConfinementProbe(required=required),
    )
