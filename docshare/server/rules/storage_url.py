"""Parse the address of the store of documents' bytes: a bucket of an S3-compatible store, or a folder."""

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

_OPTIONS = ("endpoint", "region")
_FORMS = "s3://bucket/prefix?endpoint=https://s3.example.com&region=eu-1 or file:///srv/documents"


@dataclass(frozen=True)
class BucketAddress:
    """The location of a bucket. ``prefix`` of all keys, may be empty; empty ``endpoint``: Amazon S3."""

    bucket: str
    prefix: str
    endpoint: str | None = None
    region: str | None = None


def parse_storage_url(text: str) -> BucketAddress | Path:
    """Return the bucket or the folder at an address. Raises ValueError."""
    parts = urlsplit(text)
    if parts.scheme == "file":
        if parts.netloc or parts.query or parts.fragment or not parts.path.strip("/"):
            raise ValueError("expected the absolute path of a folder, like file:///srv/documents")
        return Path(unquote(parts.path))
    if parts.scheme != "s3" or not parts.hostname or parts.fragment:
        raise ValueError(f"expected an address like {_FORMS}")
    if "@" in parts.netloc or ":" in parts.netloc:
        raise ValueError("expected the name of a bucket alone; keys belong in AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    unknown = next((name for name in options if name not in _OPTIONS), None)
    if unknown is not None:
        raise ValueError(f"unknown option '{unknown}'; s3:// accepts {', '.join(_OPTIONS)}")
    endpoint = options.get("endpoint")
    if endpoint is not None and (urlsplit(endpoint).scheme not in ("http", "https") or not urlsplit(endpoint).hostname):
        raise ValueError("expected an endpoint like https://s3.example.com")
    prefix = parts.path.strip("/")
    if prefix and not {"", ".", ".."}.isdisjoint(prefix.split("/")):
        raise ValueError("the prefix in the bucket must not contain '//', '.' or '..'")
    return BucketAddress(parts.netloc, prefix, endpoint, options.get("region") or None)
