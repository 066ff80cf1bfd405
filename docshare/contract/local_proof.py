"""A proof that a command on the host of the server can read the data directory, without sending the instance key.

The proof is valid for one credential only. It gives no access to the admin channel and does not reveal the key.
"""

import hmac

HEADER = "Docshare-Local-Token"
_PROOF_CONTEXT = "docshare local request"


def compute_proof(instance_key: str, authorization: str) -> str:
    """Return the value of ``HEADER`` for a request with this ``Authorization`` header."""
    message = f"{_PROOF_CONTEXT}\n{authorization}".encode("utf-8", "replace")
    return hmac.digest(instance_key.encode(), message, "sha256").hex()


def is_proof(value: str, instance_key: str, authorization: str) -> bool:
    """Return whether ``value`` proves that the sender of this ``Authorization`` header knows the key."""
    return hmac.compare_digest(value.encode("utf-8", "replace"), compute_proof(instance_key, authorization).encode())
