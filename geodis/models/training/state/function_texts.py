"""What a function says, as text: the same for the same code, however it is laid out and explained.

The text is the source without comments, formatting and docstrings. Where there is no source, as
for what was typed into Python itself, it is what the function was compiled to, docstring and all.
A file that was changed since it was imported is believed where the function still begins on its
line.
"""

from __future__ import annotations

import ast
import dis
import inspect
import warnings
from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def function_text(function: FunctionType) -> str:
    """Source of a function without comments, formatting and docstrings, or its compiled code."""
    code = function.__code__
    try:
        lines, _ = inspect.findsource(code)
        found = _nodes_by_place("".join(lines)).get((code.co_firstlineno, code.co_name), [])
    except (OSError, TypeError, SyntaxError, ValueError):
        found = []
    # Of several lambdas on one line the source does not say which this is; and where the file was
    # changed since, something else may stand there.
    return ast.unparse(found[0]) if len(found) == 1 else _compiled(code)


@lru_cache(maxsize=16)
def _nodes_by_place(text: str) -> Mapping[tuple[int, str], list[FunctionNode]]:
    """Every function of a file, without docstrings, by its first line and its name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what the file says, which was imported long ago
        tree = ast.parse(text)
    found: dict[tuple[int, str], list[FunctionNode]] = defaultdict(list)
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda):
            found[node.lineno, "<lambda>"].append(node)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if ast.get_docstring(node, clean=False) is not None:
                node.body = node.body[1:] or [ast.Pass()]
            if not isinstance(node, ast.ClassDef):
                first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                found[first, node.name].append(node)
    return found


def _compiled(code: CodeType) -> str:
    constants = [_constant(each) for each in code.co_consts]
    return f"{code.co_code.hex()} {code.co_names} {constants}"


def _constant(value: Any) -> str:
    if isinstance(value, CodeType):
        return _compiled(value)
    if isinstance(value, frozenset):  # of texts, in another order in every process
        return str(sorted(map(_constant, value)))
    return str(list(map(_constant, value))) if isinstance(value, tuple) else repr(value)


def names_used(code: CodeType, *operations: str) -> set[str]:
    """Names on which code has such an effect, itself or in the functions within it."""
    own = {step.argval for step in dis.get_instructions(code) if step.opname in operations}
    within = [each for each in code.co_consts if isinstance(each, CodeType)]
    return own.union(*(names_used(each, *operations) for each in within))
