"""The delay of the next password attempt after wrong ones. Pure.

Ten wrong passwords per file have no effect. Each further one delays the next attempt by one more second, so that an
attacker with many addresses gets fewer than a hundred attempts per hour, and a reader never waits longer than a
minute and a half.
"""

from docshare.contract.limits import SECOND

_FREE_ATTEMPTS = 10


def password_delay_ms(wrong: int, since_ms: int) -> int:
    """Return the delay before the next password is checked, in milliseconds; 0 for none.

    Parameters: ``wrong`` number of wrong passwords for the file in the last hour; ``since_ms`` time since the last
    one.
    """
    if wrong < _FREE_ATTEMPTS:
        return 0
    return max((wrong - _FREE_ATTEMPTS + 1) * SECOND - since_ms, 0)
