"""Choose the tenant of a job: the account or network to whose budget the time of the PDF engine is charged."""

from docshare.server.pdf.budget import Tenant
from docshare.server.rules.identity import network_prefix
from docshare.server.runtime import CostlyOwner, Runtime
from docshare.server.services.links.links import SharedFile


def reader_tenant(file: SharedFile, address: str) -> Tenant:
    """Return the tenant of a job about ``file`` that a reader at ``address`` requests.

    That is the owner of the file, or the reader's own network for a file without an owner: such files must not share
    one budget, because anybody can upload many of them.
    """
    reader = address_tenant_key(address)
    return Tenant(reader if file.owner_id is None else account_tenant_key(file.owner_id), file.sha256, reader)


def owner_tenant(file: SharedFile) -> Tenant:
    """Return the tenant of a job about ``file`` that was not requested by a reader."""
    return Tenant(f"file {file.uuid}" if file.owner_id is None else account_tenant_key(file.owner_id), file.sha256)


def text_slot_key(rt: Runtime, file: SharedFile, address: str) -> str | CostlyOwner:
    """Return the key of a reader at ``address`` among ``Runtime.text_slots``, to load the text of ``file``.

    That is the reader's network. For a costly document it is the owner, so that readers of such documents leave slots
    to others even if they come from many networks.
    """
    tenant = reader_tenant(file, address)
    return CostlyOwner(tenant.owner) if rt.engine.pool.is_costly(tenant) else network_prefix(address)


def account_tenant_key(account_id: int) -> str:
    """Return the key of an account."""
    return f"account {account_id}"


def address_tenant_key(address: str) -> str:
    """Return the key of a sender or reader without an account."""
    return f"address {network_prefix(address)}"
