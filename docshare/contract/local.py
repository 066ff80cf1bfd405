"""How a command on the server's own host shows that it may read the data directory, without sending what is in it.

The proof holds for one credential and for nothing else: it opens no admin channel, and who sees it learns no key.
"""

import hmac

HEADER = "Docshare-Local-Token"
_PURPOSE = "docshare local request"


def prove(instance_key: str, authorization: str) -> str:
    """The value of ``HEADER`` beside an ``Authorization`` header of that value."""
    said = f"{_PURPOSE}\n{authorization}".encode("utf-8", "replace")
    return hmac.digest(instance_key.encode(), said, "sha256").hex()


def is_proof(value: str, instance_key: str, authorization: str) -> bool:
    """Whether whoever sent ``value`` beside that ``Authorization`` header knows the key."""
    return hmac.compare_digest(value.encode("utf-8", "replace"), prove(instance_key, authorization).encode())
