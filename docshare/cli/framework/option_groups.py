"""Options that several commands share: declared once, as a class whose attributes are annotated as parameters are."""

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any, TypeVar


class OptionGroup:
    """Base of such a class; an object of it holds what was given, and for the rest the class has the defaults.

    Not a dataclass: writing and compiling its methods would be a tenth of what the help of a command takes.
    """

    def __init__(self, **given: Any) -> None:
        vars(self).update(given)

    @classmethod
    def parameters(cls) -> Iterator[inspect.Parameter]:
        """The attributes as parameters, those of base classes first."""
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

        shown = [*(each.replace(kind=each.KEYWORD_ONLY) for each in own), *taken]
        vars(run)["__signature__"] = inspect.Signature(shown)
        run.__annotations__ = {each.name: each.annotation for each in shown}
        return run

    return decorate
