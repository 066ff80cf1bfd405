"""Undefined names in templates."""

import pytest
from jinja2 import UndefinedError

from tests.support.people.cast import World


def test_a_missing_attribute_of_an_object_is_an_error(world: World) -> None:
    template = world.app.jinja_env.from_string("{{ file.pages }}")
    with pytest.raises(UndefinedError, match="pages"):
        template.render(file=world)


def test_a_missing_key_or_variable_is_allowed(world: World) -> None:
    template = world.app.jinja_env.from_string("{% if file.cta or problem %}never{% else %}plain{% endif %}")
    assert template.render(file={}) == "plain"
