"""Settings of the server, checked at start. Precedence: command line, environment, config.toml, default.

The table ``OPTIONS`` has all of them; ``docshare help config`` describes them.
"""

import ipaddress
import re
import shlex
import socket
import ssl
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parseaddr
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from docshare.contract.plans import PLAN_LIMITS, Plan
from docshare.server.engine_urls import parse_database_url, parse_redis_url, parse_storage
from docshare.server.outbound.mail import parse_mail_url
from docshare.server.public_address import parse_base_url
from docshare.server.rules import headers
from docshare.server.rules.mails import is_address
from docshare.server.rules.storage_url import BucketAddress, parse_storage_url
from docshare.server.rules.webhook_url import parse_allowed
from docshare.server.store.identity import DATABASE_MARKER, read_database_marker
from docshare.server.store.master_keys import MasterKeyError, parse_keys

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
ENV_PREFIX = "DOCSHARE_"
METRICS_TOKEN_PREFIX = "token:"  # noqa: S105 - a prefix
_METRICS_TOKEN_CHARS = 16
# A host name or an IP address (IPv6 in brackets), and the port unless it is that of HTTPS.
_HOST = re.compile(r"(?:[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?", re.ASCII)


class ConfigError(Exception):
    """An invalid setting that prevents the start; the message names its key."""


@dataclass(frozen=True)
class Config:
    """The settings of one server. Sizes are bytes, rates are per minute unless the name says otherwise."""

    data_dir: Path
    base_url: str
    trusted_proxies: tuple[Network, ...] = ()
    rate_limit: int = 120
    address_limit: int = 60
    anonymous_limit: int = PLAN_LIMITS[Plan.FREE].stored_bytes
    design_uploads: int = 30
    design_rate: int = 60
    import_hosts: tuple[str, ...] = ()
    webhook_allow: tuple[str, ...] = ()
    ca_bundle: Path | None = None
    design_user_jwks_url: str | None = None
    design_user_issuer: str | None = None
    design_user_audience: str | None = None
    design_token_jwks_url: str | None = None
    design_token_issuer: str | None = None
    design_token_audience: str | None = None
    smtp_url: str | None = None
    mail_from: str | None = None
    owner: str | None = None
    signature_header: str = "X-Service-Signature"
    webhook_user_agent: str = "Service-Webhooks/1.0"
    country_header: str | None = None
    geoip: Path | None = None
    anonymous_uploads: bool = False
    public_docs: bool = False
    threads: int = 8
    confinement: str = "auto"
    database_url: str | None = None
    secret_key_file: Path | None = None
    key_command: str | None = None
    encryption: bool = True
    metrics: str | None = None
    redis_url: str | None = None
    storage_url: str | None = None
    workers: int = 1
    instance_name: str | None = None
    worker_number: int = 0
    """The number of a worker process, from 1 to ``workers``; 0 for their parent, or for a single process."""

    @property
    def process_name(self) -> str:
        """Return the name of this process in logs and in ``/healthz``, if several share a database."""
        name = self.instance_name or socket.gethostname()
        return f"{name}.{self.worker_number}" if self.worker_number else name

    @property
    def storage(self) -> BucketAddress | Path | None:
        """Return where document bytes are stored; None for the data directory."""
        return None if self.storage_url is None else parse_storage_url(self.storage_url)

    @property
    def cache_dir(self) -> Path:
        """Return the directory of derived pages, one for each process."""
        return self.data_dir / "workers" / str(self.worker_number) if self.worker_number else self.data_dir / "cache"

    @property
    def is_secure(self) -> bool:
        """Return whether readers reach this server over HTTPS, so that cookies can require it."""
        return self.base_url.startswith("https://")

    @property
    def vault_path(self) -> Path:
        """Return the path of the key that encrypts secrets in the database."""
        return self.secret_key_file or self.data_dir / "vault.key"

    @property
    def database_path(self) -> Path:
        """Return the path of the SQLite file."""
        return self.data_dir / "docshare.db"


def _parse_text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or any(ord(char) < 32 for char in value):
        raise ValueError("expected a string that is not empty, without control characters")
    return value.strip()


def _integer_parser(low: int, high: int) -> Callable[[Any], int]:
    def parse(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise ValueError("expected a whole number")
        text = str(value).strip()
        if not text.isascii() or not text.isdigit() or not low <= int(text) <= high:
            raise ValueError(f"expected a whole number from {low} to {high}")
        return int(text)

    return parse


def _choice_parser(*words: str) -> Callable[[Any], str]:
    def parse(value: Any) -> str:
        if value not in words:
            raise ValueError(f"expected {' or '.join(words)}")
        return str(value)

    return parse


def _parse_switch(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    words = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    if not isinstance(value, str) or value.strip().lower() not in words:
        raise ValueError("expected on or off")
    return words[value.strip().lower()]


def _parse_list(value: Any) -> list[str]:
    if isinstance(value, str):
        value = value.replace(",", " ").split()
    if not isinstance(value, list):
        raise ValueError("expected a list")
    return [_parse_text(item) for item in value]


def _parse_hosts(value: Any) -> tuple[str, ...]:
    return tuple(item.lower() for item in _parse_list(value))


def _parse_import_hosts(value: Any) -> tuple[str, ...]:
    hosts = _parse_hosts(value)
    for host in hosts:
        match = _HOST.fullmatch(host)
        if match is None or not 1 <= int(match[1] or 443) <= 65535:
            raise ValueError(f"expected 'host' or 'host:port', not '{host}'")
    return hosts


def _parse_webhook_hosts(value: Any) -> tuple[str, ...]:
    hosts = _parse_hosts(value)
    parse_allowed(hosts)
    return hosts


def _parse_networks(value: Any) -> tuple[Network, ...]:
    return tuple(ipaddress.ip_network(item, strict=False) for item in _parse_list(value))


def _parse_existing_file(value: Any) -> Path:
    path = Path(_parse_text(value)).expanduser()
    if not path.is_file():
        raise ValueError(f"no such file: {path}")
    return path


def _parse_secret_key(value: Any) -> Path:
    path = _parse_existing_file(value)
    try:
        parse_keys(path.read_bytes(), str(path))
    except (MasterKeyError, OSError) as error:
        raise ValueError(f"{error}; to create one: head -c 32 /dev/urandom > FILE") from None
    return path.absolute()


def _parse_command(value: Any) -> str:
    shlex.split(text := _parse_text(value))  # raises ValueError for an open quotation mark
    return text


def _parse_certificates(value: Any) -> Path:
    path = _parse_existing_file(value)
    try:
        ssl.create_default_context(cafile=str(path))
    except OSError as error:  # including ssl.SSLError
        raise ValueError(f"no certificates in {path}") from error
    return path


def _parse_web_url(value: Any) -> str:
    text = _parse_text(value)
    if urlsplit(text).scheme not in ("http", "https"):
        raise ValueError("expected an http or https address")
    return text


def _parse_mail_server(value: Any) -> str:
    text = _parse_text(value)
    parse_mail_url(text)
    return text


def _parse_mail_address(value: Any) -> str:
    text = _parse_text(value)
    if "@" not in parseaddr(text)[1]:
        raise ValueError("expected an address like docshare@example.com or Documents <docs@example.com>")
    return text


def _parse_owner(value: Any) -> str:
    text = _parse_text(value)
    if not is_address(text):
        raise ValueError("expected an address like ada@example.com")
    return text


def _parse_metrics_access(value: Any) -> str:
    text = _parse_text(value)
    if text in ("off", "local"):
        return text
    token = text.removeprefix(METRICS_TOKEN_PREFIX)
    if token == text or len(token) < _METRICS_TOKEN_CHARS or not token.isascii() or not token.isprintable():
        raise ValueError(f"expected off, local, or token: with at least {_METRICS_TOKEN_CHARS} ASCII characters")
    if set(token) & set(" ,"):
        raise ValueError("the token must not contain spaces or commas")
    return text


def _parse_directory(value: Any) -> Path:
    if isinstance(value, Path):
        return value.expanduser().absolute()
    text = _parse_text(value)
    if text[0] == text[-1] and text[0] in "\"'":  # else the server creates an empty instance in a folder of that name
        raise ValueError("expected a path without quotes: docker --env-file, for one, does not remove them")
    return Path(text).expanduser().absolute()


OPTIONS: dict[str, Callable[[Any], Any]] = {
    "data_dir": _parse_directory,
    "base_url": lambda value: parse_base_url(_parse_text(value)),
    "trusted_proxies": _parse_networks,
    "rate_limit": _integer_parser(1, 1_000_000),
    "address_limit": _integer_parser(1, 1_000_000),
    "anonymous_limit": _integer_parser(1, 2**40),
    "design_uploads": _integer_parser(0, 1_000_000),
    "design_rate": _integer_parser(1, 1_000_000),
    "import_hosts": _parse_import_hosts,
    "webhook_allow": _parse_webhook_hosts,
    "ca_bundle": _parse_certificates,
    "design_user_jwks_url": _parse_web_url,
    "design_user_issuer": _parse_text,
    "design_user_audience": _parse_text,
    "design_token_jwks_url": _parse_web_url,
    "design_token_issuer": _parse_text,
    "design_token_audience": _parse_text,
    "smtp_url": _parse_mail_server,
    "mail_from": _parse_mail_address,
    "signature_header": lambda value: headers.parse_signature_name(_parse_text(value)),
    "webhook_user_agent": lambda value: headers.parse_value(_parse_text(value)),
    "country_header": lambda value: headers.parse_name(_parse_text(value)),
    "geoip": _parse_existing_file,
    "anonymous_uploads": _parse_switch,
    "public_docs": _parse_switch,
    "threads": _integer_parser(1, 256),
    "confinement": _choice_parser("auto", "required"),
    "database_url": lambda value: parse_database_url(_parse_text(value)),
    "secret_key_file": _parse_secret_key,
    "key_command": _parse_command,
    "encryption": _parse_switch,
    "workers": _integer_parser(1, 64),
    "instance_name": _parse_text,
    "redis_url": lambda value: parse_redis_url(_parse_text(value)),
    "storage_url": lambda value: parse_storage(_parse_text(value)),
    "metrics": _parse_metrics_access,
    "owner": _parse_owner,
}


def load_config(
    flags: Mapping[str, Any], environ: Mapping[str, str], default_data_dir: Path, default_base_url: str
) -> Config:
    """Return the settings of one server.

    Parameters: ``flags`` settings of the command line, None if not given; ``environ`` the environment;
    ``default_data_dir`` and ``default_base_url`` the defaults. Raises ``ConfigError``.
    """
    given = {key: value for key, value in flags.items() if value is not None}
    from_env = {
        key: environ[ENV_PREFIX + key.upper()] for key in OPTIONS if environ.get(ENV_PREFIX + key.upper(), "") != ""
    }
    location = given.get("data_dir", from_env.get("data_dir", default_data_dir))
    data_dir = _parse_option("data_dir", location, "--data or DOCSHARE_DATA_DIR")
    merged: dict[str, Any] = {"base_url": default_base_url}
    for source, values in (
        ("config.toml", _read_toml(data_dir / "config.toml")),
        ("environment", from_env),
        ("command line", given),
    ):
        for key, value in values.items():
            merged[key] = _parse_option(key, value, source)
    merged["data_dir"] = data_dir
    _require_issuer_and_audience(merged)
    if merged.get("workers", 1) > 1 and "database_url" not in merged:
        raise ConfigError("workers: SQLite serves one process; for more, set DOCSHARE_DATABASE_URL to PostgreSQL")
    if "database_url" not in merged:
        _require_own_rows(data_dir)
    if {"key_command", "secret_key_file"} <= merged.keys():
        raise ConfigError("key_command: cannot be used together with secret_key_file")
    return Config(**merged)


def _require_own_rows(data_dir: Path) -> None:
    """Raise ConfigError if the rows of the data directory are in another database: without them, all of its documents
    would look like leftovers, which are removed."""
    try:
        marker = read_database_marker(data_dir)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{data_dir / DATABASE_MARKER}: {error}") from None
    if marker is not None:
        raise ConfigError(
            f"database_url: the documents in {data_dir} belong to {marker.address}; set DOCSHARE_DATABASE_URL as for "
            f"the server, or delete {data_dir / DATABASE_MARKER} if that database is no longer used"
        )


def _parse_option(key: str, value: Any, source: str) -> Any:
    if key not in OPTIONS:
        raise ConfigError(f"{source}: unknown setting '{key}'")
    try:
        return OPTIONS[key](value)
    except ValueError as error:
        name = ENV_PREFIX + key.upper() if source == "environment" else key
        raise ConfigError(f"{source}: {name}: {error}") from None


def _require_issuer_and_audience(merged: Mapping[str, Any]) -> None:
    """Raise ``ConfigError`` unless issuer and audience are set: by the keys alone, the server would accept tokens that
    were issued for another service."""
    for prefix in ("design_user", "design_token"):
        if f"{prefix}_jwks_url" not in merged:
            continue
        if prefix == "design_token" and "design_user_jwks_url" not in merged:
            raise ConfigError("design_user_jwks_url: required if design_token_jwks_url is set")
        for part in ("issuer", "audience"):
            # Design-token settings that are not given default to those of the user token.
            if not {f"{prefix}_{part}", f"design_user_{part}"} & merged.keys():
                raise ConfigError(f"{prefix}_{part}: required if {prefix}_jwks_url is set")


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except NotADirectoryError:
        raise ConfigError(f"{path.parent} is not a directory, so it cannot hold data") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"config.toml: {error}") from None
    if "data_dir" in values:
        raise ConfigError("config.toml: data_dir cannot be set in the data directory itself")
    return values
