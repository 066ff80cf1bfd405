"""Options shared by several commands: declared once, as a class with annotations like those of parameters."""

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any, TypeVar


class OptionGroup:
    """Base class of option groups; an instance holds the given values, and the class has the defaults.

    It is not a dataclass: generating and compiling its methods would take a tenth of the time to print help.
    """

    def __init__(self, **given: Any) -> None:
        vars(self).update(given)

    @classmethod
    def parameters(cls) -> Iterator[inspect.Parameter]:
        """Yield the attributes as parameters, those of base classes first."""
        for kind in reversed(cls.__mro__):
            for name, annotation in inspect.get_annotations(kind).items():
                default = getattr(cls, name, inspect.Parameter.empty)
                yield inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


T = TypeVar("T", bound=OptionGroup)


def add_options(kind: type[T], name: str = "given") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a command so that it takes the options of ``kind`` and gets their values as its parameter ``name``."""
    taken = list(kind.parameters())

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        own = [each for each in inspect.signature(function).parameters.values() if each.name != name]

        @functools.wraps(function)
        def run(**values: Any) -> Any:
            chosen = kind(**{each.name: values.pop(each.name) for each in taken})
            return function(**values, **{name: chosen})

        parameters = [*(each.replace(kind=each.KEYWORD_ONLY) for each in own), *taken]
        vars(run)["__signature__"] = inspect.Signature(parameters)
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        return run

    return decorate
