"""Texts of functions: the same for the same code, whatever is said of it."""

import subprocess
import sys
import textwrap
from typing import Any

import pytest

from geodis.models.training.state.function_texts import function_text, names_used


def defined(folder, text, name="f"):
    """A function of a file of its own."""
    file = folder / f"{name}_{len(list(folder.iterdir()))}.py"
    file.write_text(textwrap.dedent(text))
    names: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    return names[name]


PLAIN = """
def f(x, y=2):
    def g(z):
        return z * y
    return g(x) + 1
"""
SAID = '''
# One.


def f(
    x,
    y=2,  # two
):
    """Do it.

    In two lines.
    """

    def g(z):
        """And this."""
        return (z
                * y)

    return g(x) + 1  # three
'''


def test_comments_formatting_and_docstrings_are_no_part(tmp_path):
    assert function_text(defined(tmp_path, SAID)) == function_text(defined(tmp_path, PLAIN))
    assert "Do it" not in function_text(defined(tmp_path, SAID))
    nothing = 'def f():\n    """Do nothing."""\n'
    assert function_text(defined(tmp_path, nothing)) == "def f():\n    pass"


@pytest.mark.parametrize("change", [("z * y", "z + y"), ("y=2", "y=3"), ("+ 1", "+ 1.5")])
def test_other_code_is_another_text(change, tmp_path):
    other = PLAIN.replace(*change)
    assert function_text(defined(tmp_path, other)) != function_text(defined(tmp_path, PLAIN))


def test_a_method_with_a_long_text_in_it_is_found(tmp_path):
    text = 'class C:\n    def m(self):\n        return """a\nb"""\nf = C.m\n'
    assert function_text(defined(tmp_path, text)) == "def m(self):\n    return 'a\\nb'"


def test_a_decorated_function_is_found_with_its_decorators(tmp_path):
    text = "def d(g):\n    return g\n\n@d\n@d\ndef f(x):\n    return x\n"
    assert function_text(defined(tmp_path, text)) == "@d\n@d\ndef f(x):\n    return x"


def test_lambdas_are_told_apart_on_one_line_too():
    # fmt: off
    one = lambda x: x + 1  # noqa: E731
    two, three = (lambda x: x + 1), (lambda x: x + 2)
    # fmt: on
    assert function_text(one) == "lambda x: x + 1"
    assert function_text(two) != function_text(three)


def test_without_a_source_the_compiled_code_counts():
    def compiled(text):
        names: dict[str, Any] = {}
        exec(text, names)
        return names["f"]

    text = "def f(x):\n    return [y + 1 for y in x if y in {'a', 'b'}]"
    assert function_text(compiled(text)) == function_text(compiled("\n# one\n" + text))
    assert function_text(compiled(text)) != function_text(compiled(text.replace("1", "2")))
    assert function_text(compiled(text)) != function_text(compiled(text.replace("'b'", "'c'")))


# A set of texts has another order in every process.
TYPED = """
from geodis.models.training.state.function_texts import function_text
names = {}
exec("def f(x): return x in {'a', 'b', 'c', 'd'} and (lambda y: y)(x)", names)
print(function_text(names["f"]))
"""


def test_compiled_code_is_the_same_in_another_process():
    said = {
        subprocess.run(
            [sys.executable, "-c", TYPED],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "OMP_NUM_THREADS": "1"},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(said) == 1 and "lambda" not in said.pop()


def test_a_file_that_was_changed_since_is_not_believed(tmp_path):
    function = defined(tmp_path, PLAIN)
    before = function_text(function)
    for file in tmp_path.iterdir():
        file.write_text("# moved\n" + PLAIN)
    assert function_text(function) != before
    assert "def f" not in function_text(function)


def test_names_are_those_of_functions_within_too():
    def outer():
        return lambda x: textwrap.dedent(x)

    assert names_used(outer.__code__, "LOAD_GLOBAL") == {"textwrap"}
    assert names_used(outer.__code__, "STORE_GLOBAL") == set()
