"""Calls with every choice as a plain keyword, for tests that vary one choice at a time."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any


def flat(function: Callable[..., Any], options: type) -> Callable[..., Any]:
    """The function, with the fields of its options among its keywords."""
    names = {field.name for field in fields(options)}

    def call(*arguments: Any, **choices: Any) -> Any:
        own = {name: choices.pop(name) for name in names & set(choices)}
        return function(*arguments, **choices, **({"options": options(**own)} if own else {}))

    return call
