"""Settings of the server: sources, precedence, and invalid values."""

import ipaddress
import sys
from pathlib import Path

import pytest

from docshare.server.config import OPTIONS, Config, ConfigError, load_config

URL = "http://127.0.0.1:8787"

# Literals on purpose: scripts and packages rely on these names.
ENVIRONMENT = {
    "DOCSHARE_DATA_DIR", "DOCSHARE_BASE_URL", "DOCSHARE_TRUSTED_PROXIES", "DOCSHARE_RATE_LIMIT",
    "DOCSHARE_ADDRESS_LIMIT", "DOCSHARE_ANONYMOUS_LIMIT", "DOCSHARE_DESIGN_UPLOADS", "DOCSHARE_DESIGN_RATE",
    "DOCSHARE_IMPORT_HOSTS", "DOCSHARE_WEBHOOK_ALLOW", "DOCSHARE_CA_BUNDLE", "DOCSHARE_DESIGN_USER_JWKS_URL",
    "DOCSHARE_DESIGN_USER_ISSUER", "DOCSHARE_DESIGN_USER_AUDIENCE", "DOCSHARE_DESIGN_TOKEN_JWKS_URL",
    "DOCSHARE_DESIGN_TOKEN_ISSUER", "DOCSHARE_DESIGN_TOKEN_AUDIENCE", "DOCSHARE_SMTP_URL", "DOCSHARE_MAIL_FROM",
    "DOCSHARE_SIGNATURE_HEADER", "DOCSHARE_WEBHOOK_USER_AGENT", "DOCSHARE_COUNTRY_HEADER", "DOCSHARE_GEOIP",
    "DOCSHARE_ANONYMOUS_UPLOADS", "DOCSHARE_THREADS", "DOCSHARE_CONFINEMENT", "DOCSHARE_DATABASE_URL",
    "DOCSHARE_SECRET_KEY_FILE", "DOCSHARE_WORKERS", "DOCSHARE_INSTANCE_NAME",
    "DOCSHARE_REDIS_URL", "DOCSHARE_METRICS", "DOCSHARE_STORAGE_URL", "DOCSHARE_KEY_COMMAND", "DOCSHARE_ENCRYPTION",
    "DOCSHARE_OWNER", "DOCSHARE_PUBLIC_DOCS",
}  # fmt: skip


def test_the_environment_variables_are_stable() -> None:
    assert {"DOCSHARE_" + key.upper() for key in OPTIONS} == ENVIRONMENT


def test_the_defaults_are_stable(tmp_path: Path) -> None:
    config = load_config({}, {}, tmp_path, URL)
    assert config == Config(data_dir=tmp_path, base_url=URL)
    assert (config.rate_limit, config.address_limit, config.threads) == (120, 60, 8)
    assert (config.design_uploads, config.design_rate) == (30, 60)
    assert config.anonymous_limit == 20 * 1024 * 1024
    assert (config.signature_header, config.webhook_user_agent) == ("X-Service-Signature", "Service-Webhooks/1.0")
    assert config.anonymous_uploads is False
    assert config.public_docs is False


def test_flags_override_the_environment_the_file_and_the_defaults(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("rate_limit = 1\naddress_limit = 2\nthreads = 3\n")
    environ = {"DOCSHARE_ADDRESS_LIMIT": "20", "DOCSHARE_THREADS": "30"}
    config = load_config({"threads": 300 - 100, "rate_limit": None}, environ, tmp_path, URL)
    assert (config.rate_limit, config.address_limit, config.threads) == (1, 20, 200)


def test_the_file_is_read_from_the_data_directory_of_the_environment(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("rate_limit = 7\n")
    assert load_config({}, {"DOCSHARE_DATA_DIR": str(tmp_path)}, tmp_path / "other", URL).rate_limit == 7


def test_lists_are_split_at_commas_and_spaces(tmp_path: Path) -> None:
    environ = {"DOCSHARE_TRUSTED_PROXIES": "10.0.0.0/8, ::1", "DOCSHARE_IMPORT_HOSTS": "A.example b.example:8443"}
    config = load_config({}, environ, tmp_path, URL)
    assert config.trusted_proxies == (ipaddress.ip_network("10.0.0.0/8"), ipaddress.ip_network("::1/128"))
    assert config.import_hosts == ("a.example", "b.example:8443")


def test_an_import_host_may_be_an_address_with_or_without_a_port(tmp_path: Path) -> None:
    environ = {"DOCSHARE_IMPORT_HOSTS": "10.0.0.1 [2001:DB8::1]:8443 [::1] localhost:65535 a_b.example"}
    hosts = ("10.0.0.1", "[2001:db8::1]:8443", "[::1]", "localhost:65535", "a_b.example")
    assert load_config({}, environ, tmp_path, URL).import_hosts == hosts


def test_webhook_allow_accepts_names_addresses_and_networks(tmp_path: Path) -> None:
    environ = {"DOCSHARE_WEBHOOK_ALLOW": "Receiver.lan, 10.0.0.0/8 ::1/128,192.168.7.7"}
    allowed = ("receiver.lan", "10.0.0.0/8", "::1/128", "192.168.7.7")
    assert load_config({}, environ, tmp_path, URL).webhook_allow == allowed


def test_an_invalid_webhook_allow_value_raises_and_names_the_variable(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"DOCSHARE_WEBHOOK_ALLOW.*'\*\.lan'"):
        load_config({}, {"DOCSHARE_WEBHOOK_ALLOW": "receiver.lan,*.lan"}, tmp_path, URL)


def test_a_ca_bundle_without_certificates_raises(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("not one")
    with pytest.raises(ConfigError, match="no certificates"):
        load_config({"ca_bundle": str(tmp_path / "ca.pem")}, {}, tmp_path, URL)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("rate_limits = 5", "rate_limits"),
        ("rate_limit = 0", "rate_limit"),
        ("rate_limit = true", "rate_limit"),
        ("rate_limit = 1.5", "rate_limit"),
        ('threads = "many"', "threads"),
        ('base_url = "docs.example.com"', "base_url"),
        ('base_url = "https://docs.example.com/sub"', "base_url"),
        ('base_url = "https://me@docs.example.com"', "base_url"),
        ('base_url = "https://docs.example.com:x"', "base_url"),
        ('base_url = "https://straße.example"', "base_url.*xn--"),
        ('base_url = "https://a\u200bb.example"', "base_url.*xn--"),
        ('base_url = "https://[::1::]"', "base_url"),
        ('trusted_proxies = ["10.0.0.0/99"]', "trusted_proxies"),
        ('geoip = "/no/such/file.mmdb"', "geoip"),
        ('import_hosts = ["https://a.example"]', "import_hosts"),
        ('import_hosts = ["a.example/export"]', "import_hosts"),
        ('import_hosts = ["*.a.example"]', "import_hosts"),
        ('import_hosts = ["a.example:0"]', "import_hosts"),
        ('import_hosts = ["a.example:65536"]', "import_hosts"),
        ('webhook_allow = ["10.0.0.0/33"]', "webhook_allow"),
        ('webhook_allow = ["https://a.example"]', "webhook_allow"),
        ('webhook_allow = ["*.a.example"]', "webhook_allow"),
        ('webhook_allow = ["a.example:8080"]', "webhook_allow"),
        ('webhook_allow = ["127.1"]', "webhook_allow"),
        ('signature_header = "X Signature"', "signature_header"),
        ('signature_header = "X-Signature:"', "signature_header"),
        ('signature_header = "X-Ünterschrift"', "signature_header"),
        ('signature_header = "content-length"', "signature_header"),
        ('signature_header = "Webhook-Id"', "signature_header"),
        ('webhook_user_agent = "サービス/1.0"', "webhook_user_agent"),
        ('country_header = "CF-IPCountry:"', "country_header"),
        (f'owner = "{"a" * 65}@example.com"', "owner"),
        (f'owner = "ada@{"b" * 190}"', "owner"),
        ('owner = "ada\\u007f@example.com"', "owner"),
        ('ca_bundle = "/no/such/file.pem"', "ca_bundle"),
        ('ca_bundle = "/dev/null"', "ca_bundle"),
        ('anonymous_uploads = "perhaps"', "anonymous_uploads"),
        ('public_docs = "maybe"', "public_docs"),
        ('confinement = "off"', "confinement"),
        ("confinement = true", "confinement"),
        ('design_user_jwks_url = "ftp://keys"', "design_user_jwks_url"),
        ('data_dir = "/elsewhere"', "data_dir"),
        ("rate_limit = ", "config.toml"),
    ],
)
def test_an_invalid_file_raises_and_names_the_key(tmp_path: Path, text: str, named: str) -> None:
    (tmp_path / "config.toml").write_text(text)
    with pytest.raises(ConfigError, match=named):
        load_config({}, {}, tmp_path, URL)


def test_an_invalid_environment_value_raises_and_names_the_variable(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="DOCSHARE_THREADS"):
        load_config({}, {"DOCSHARE_THREADS": "-1"}, tmp_path, URL)


def test_an_empty_environment_value_counts_as_unset(tmp_path: Path) -> None:
    assert load_config({}, {"DOCSHARE_RATE_LIMIT": ""}, tmp_path, URL).rate_limit == 120


@pytest.mark.parametrize(
    ("given", "normalized"),
    [
        ("https://docs.example.com/", "https://docs.example.com"),
        ("https://Docs.Example.com:443", "https://docs.example.com"),
        ("http://docs.example.com:80", "http://docs.example.com"),
        ("https://docs.example.com:8443", "https://docs.example.com:8443"),
        ("http://[::1]:8787", "http://[::1]:8787"),
        ("http://[0:0:0:0:0:0:0:1]:8787", "http://[::1]:8787"),
        ("https://Bücher.example", "https://xn--bcher-kva.example"),
        ("http://例え.jp:8787/", "http://xn--r8jz45g.jp:8787"),
    ],
)
def test_the_base_url_is_normalized_like_an_origin(tmp_path: Path, given: str, normalized: str) -> None:
    assert load_config({"base_url": given}, {}, tmp_path, URL).base_url == normalized


def test_a_redis_url_requires_the_packages_of_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environ = {"DOCSHARE_REDIS_URL": "rediss://user:password@cache.example:6380/2"}
    assert load_config({}, environ, tmp_path, URL).redis_url == environ["DOCSHARE_REDIS_URL"]
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(ConfigError, match=r"DOCSHARE_REDIS_URL: Redis needs the extra packages of docshare\[cluster\]"):
        load_config({}, environ, tmp_path, URL)


def test_the_headers_of_webhooks_can_be_named(tmp_path: Path) -> None:
    environ = {"DOCSHARE_SIGNATURE_HEADER": " X-Acme-Signature ", "DOCSHARE_WEBHOOK_USER_AGENT": "Bücher (v2)/1.0"}
    config = load_config({}, {**environ, "DOCSHARE_COUNTRY_HEADER": "CF-IPCountry"}, tmp_path, URL)
    assert (config.signature_header, config.webhook_user_agent) == ("X-Acme-Signature", "Bücher (v2)/1.0")
    assert config.country_header == "CF-IPCountry"
