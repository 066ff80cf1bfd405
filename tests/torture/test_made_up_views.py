"""The short form of ``made_up_views``: each attack with a few sessions."""

from collections.abc import Callable

import pytest

from tests.support.people.cast import World
from tests.torture.made_up_views import ATTACKS, SHORT, AttackedDocument, AttackOutcome


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_an_attack_adds_at_most_the_views_that_the_rule_allows(
    world: World, attack: Callable[[AttackedDocument], AttackOutcome]
) -> None:
    outcome = attack(AttackedDocument(world, SHORT))
    assert outcome.is_within_rule, outcome
