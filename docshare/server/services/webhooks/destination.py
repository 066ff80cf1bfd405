"""Check the URLs of webhooks: the same rules on registration and before every attempt."""

from functools import lru_cache

from docshare.contract.limits import SECOND
from docshare.contract.webhooks import TIMEOUT_MS
from docshare.server.outbound.addresses import AddressPolicy
from docshare.server.outbound.failures import OutboundError
from docshare.server.outbound.targets import OutboundTarget
from docshare.server.rules import webhook_url as rules
from docshare.server.runtime import Runtime
from docshare.server.services.operations import slots

_LOOKUP_TIMEOUT_S = 2.0  # short, because it occupies a thread of the server
_SLOT_WAIT_S = TIMEOUT_MS / SECOND  # the maximum time that a lookup or a test delivery holds a slot


def vet_target(rt: Runtime, url: object, *, listener: bool = False) -> tuple[OutboundTarget, AddressPolicy]:
    """Return the target of ``url`` and the policy that checks the resolved addresses of its host.

    Parameters: ``listener``: the URL belongs to ``docshare webhooks listen``, so it must be on this machine. Raises
    ``bad_request``.
    """
    return rules.vet_url(url, rules.LOOPBACK if listener else _parse_allowed_hosts(rt.config.webhook_allow))


def vet_registration(rt: Runtime, url: object, account_id: int) -> OutboundTarget:
    """Return the target of the ``url`` of a new webhook, after resolving its host and checking the addresses.

    Raises ``bad_request`` if the URL, the host or one of its addresses is not allowed or the host is not found, and
    ``unavailable`` while too many hosts are being looked up.
    """
    target, policy = vet_target(rt, url)
    try:
        with slots.hold_slot(
            rt.outbound.webhook_slots, account_id, "Too many hosts are being looked up.", wait_s=_SLOT_WAIT_S
        ):
            rt.outbound.vet(target, policy, deadline_s=_LOOKUP_TIMEOUT_S)
    except OutboundError as error:
        raise rules.target_problem(target) from error
    return target


@lru_cache(maxsize=16)
def _parse_allowed_hosts(entries: tuple[str, ...]) -> rules.AllowedHosts:
    return rules.parse_allowed(entries)
