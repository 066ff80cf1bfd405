"""Names in templates that do not exist."""

import pytest
from jinja2 import UndefinedError

from tests.support.cast import World


def test_a_field_that_an_object_does_not_have_is_an_error(world: World) -> None:
    template = world.app.jinja_env.from_string("{{ file.pages }}")
    with pytest.raises(UndefinedError, match="pages"):
        template.render(file=world)


def test_a_key_or_a_variable_may_be_absent(world: World) -> None:
    template = world.app.jinja_env.from_string("{% if file.cta or problem %}never{% else %}plain{% endif %}")
    assert template.render(file={}) == "plain"
