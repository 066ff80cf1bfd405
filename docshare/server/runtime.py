"""Everything outside the process, in one object: built once by ``build``, replaced whole in tests.

This is the only module of the server that reads a clock or makes random values.
"""

import secrets
import string
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field

from docshare.server.config import Config
from docshare.server.denial_counter import DenialCounter
from docshare.server.http.proxy_probes import Probes, UntrustedProxies
from docshare.server.http.rate_limits import RateLimiter
from docshare.server.office.convert import OfficeConverter, find_program
from docshare.server.outbound.exchange import OutboundClient
from docshare.server.outbound.jwts import TokenVerifier
from docshare.server.outbound.location import make_locator
from docshare.server.outbound.mail import Mailer
from docshare.server.pdf.engine import PdfEngine
from docshare.server.pdf.pages import PageStore
from docshare.server.pdf.probe import ConfinementProbe
from docshare.server.store.blobs import BlobStore
from docshare.server.store.database import Store
from docshare.server.store.vault import Vault

_BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase


@dataclass(frozen=True)
class Runtime:
    """``clock`` gives milliseconds since 1970 UTC; ``token(n)`` n random base62 characters; ``secret(n)`` n random
    bytes; ``locate(address)`` the two-letter country of an IP address or None; ``pulses`` when each thread of
    the background work last looked for some, in ms by its name."""

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
    denials: DenialCounter = field(default_factory=DenialCounter)
    probes: Probes = field(default_factory=Probes)
    untrusted_proxies: UntrustedProxies = field(default_factory=UntrustedProxies)
    heartbeats: dict[str, int] = field(default_factory=dict)
    confinement: ConfinementProbe = field(default_factory=ConfinementProbe)

    def close(self) -> None:
        """Stop the workers and close the database."""
        self.converter.close()
        self.pages.close()
        self.engine.close()
        self.db.close()


def current_time_ms() -> int:
    """Milliseconds since 1970, UTC."""
    return time.time_ns() // 1_000_000


def random_token(length: int) -> str:
    """``length`` base62 characters, drawn without bias: the digits of one random number."""
    number = secrets.randbelow(62**length)
    characters = []
    for _ in range(length):
        number, digit = divmod(number, 62)
        characters.append(_BASE62[digit])
    return "".join(characters)


def random_uuid() -> str:
    """A random UUID in lower case."""
    return str(uuid.uuid4())


def random_bytes(length: int) -> bytes:
    """``length`` random bytes."""
    return secrets.token_bytes(length)


def open_store(config: Config) -> Store:
    """The database of the instance: a file in the data directory, or PostgreSQL where the settings name one."""
    if config.database_url is None:
        return Store(config.database_path)
    from docshare.server.store.postgresql import PostgresqlStore  # its packages are an extra of the installation

    return PostgresqlStore(config.database_url)


def build_runtime(config: Config) -> Runtime:
    """The real outside world for ``config``; its data directory must exist."""
    required = config.confinement == "required"
    engine = PdfEngine(required=required)
    transfers, lookups = max(1, config.threads // 2), max(1, config.threads // 4)
    outbound = OutboundClient(config.ca_bundle, transfers=transfers, lookups=lookups)
    return Runtime(
        config=config,
        clock=current_time_ms,
        random_token=random_token,
        random_uuid=random_uuid,
        random_bytes=random_bytes,
        db=open_store(config),
        blobs=BlobStore(config.data_dir / "blobs", config.data_dir / "tmp", lambda: random_token(32)),
        engine=engine,
        pages=PageStore(engine, config.data_dir / "cache"),
        converter=OfficeConverter(config.data_dir / "tmp", find_program(), required=required),
        outbound=outbound,
        jwts=TokenVerifier(outbound, current_time_ms),
        mailer=Mailer(config.smtp_url, config.ca_bundle),
        vault=Vault(config.vault_path, random_bytes),
        locate=make_locator(config.geoip),
        limits=RateLimiter(current_time_ms),
        confinement=ConfinementProbe(required=required),
    )
