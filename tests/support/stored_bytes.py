"""What a test finds in the store of documents, whatever kind of store it is."""

from docshare.server.runtime import Runtime

_FAR = 10**15


def list_stored_keys(rt: Runtime) -> list[str]:
    """The keys of all blobs."""
    return sorted(key for page in rt.blobs.list_old(_FAR) for key in page)


def list_stored(rt: Runtime) -> list[bytes]:
    """The bytes of all blobs and of all partial files."""
    blobs = [read_stored(rt, key) for key in list_stored_keys(rt)]
    return blobs + [path.read_bytes() for path in rt.blobs.tmp.iterdir() if path.is_file()]


def read_stored(rt: Runtime, key: str) -> bytes:
    """The bytes of one blob."""
    return b"".join(rt.blobs.read_blocks(key))
