"""Where webhooks are sent: the same judgement when one is registered and before everything that is sent to it."""

from functools import lru_cache

from docshare.server.outbound.addresses import AddressPolicy
from docshare.server.outbound.failures import OutboundError
from docshare.server.outbound.targets import OutboundTarget
from docshare.server.rules import webhook_url as rules
from docshare.server.runtime import Runtime
from docshare.server.services.operations import slots

_LOOKUP_TIMEOUT_S = 2.0  # a thread of the server waits
_SLOT_WAIT_S = 0.25  # far longer than lookups take that nobody drags out


def vet_target(rt: Runtime, url: object, *, listener: bool = False) -> tuple[OutboundTarget, AddressPolicy]:
    """The target of ``url``, and the permit by which the addresses of its host are judged when they are known.

    Parameters: ``listener`` for one of ``docshare webhooks listen``, which is on this machine and nowhere else. Raises
    ``bad_request``.
    """
    return rules.vet_url(url, rules.LOOPBACK if listener else _parse_allowed_hosts(rt.config.webhook_allow))


def vet_registration(rt: Runtime, url: object) -> OutboundTarget:
    """The target of ``url``, which is to be registered, after a look at where its host is now.

    Raises ``bad_request``, also where the host is not found, and ``unavailable`` while too many are looked up.
    """
    target, permit = vet_target(rt, url)
    try:
        with slots.hold_slot(rt.outbound.lookups, "Too many hosts are being looked up now.", wait_s=_SLOT_WAIT_S):
            rt.outbound.vet(target, permit, deadline_s=_LOOKUP_TIMEOUT_S)
    except OutboundError as error:
        raise rules.target_problem(target) from error
    return target


@lru_cache(maxsize=16)
def _parse_allowed_hosts(entries: tuple[str, ...]) -> rules.AllowedHosts:
    return rules.parse_allowed(entries)
