"""A page of Markdown whose blocks of Python are run: what they print, give and draw.

Comments of the page, which no reader sees, say what else is asked of it:

``<!-- quick: 2000 -> 300; steps=900 -> steps=3 -->``
    replacements in the code that make the short form, which tests run;
``<!-- picture: what it shows -->``
    after a block that ends in a figure, the text for those who do not see it;
``<!-- holds: est.dim_ == 3 -->``
    what the prose rests on: false in the long form, and the page is not built.
"""

from __future__ import annotations

import ast
import base64
import html
import io
import json
import os
import re
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from matplotlib.axes import Axes

REPOSITORY = "https://github.com/geodis-learn/geodis-learn/blob/main/docs/pages"
BLOCK = re.compile(r"```python\n(.*?)```\n?", re.DOTALL)
NOTE = re.compile(r"<!-- (quick|picture|holds): (.*?) -->\n?", re.DOTALL)
MOST_SVG = 150_000  # bytes; larger drawings, as of thousands of points, are kept as pixels
MOST_LINES = 60


class Block(NamedTuple):
    """A block of code with the text before it, and what the page says of it."""

    before: str
    code: str
    picture: str
    holds: list[str]


class Output(NamedTuple):
    """What a block gave: text, and a figure with its suffix."""

    text: str
    suffix: str
    figure: bytes


class Page:
    """Text and code of a page, and its title."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.source = path.read_text(encoding="utf-8")
        self.title = self.source.split("\n", 1)[0].removeprefix("# ")
        pieces = BLOCK.split(self.source)  # text, code, text, code, ..., text
        self.blocks = []
        for before, code, after in zip(pieces[::2], pieces[1::2], pieces[2::2], strict=False):
            # Notes stand right after the block; those further down are of the text.
            notes = NOTE.findall(after)
            asked = [text for kind, text in notes if kind == "picture"]
            holds = [text for kind, text in notes if kind == "holds"]
            picture = " ".join(asked)
            self.blocks.append(Block(NOTE.sub("", before), code, " ".join(picture.split()), holds))
        self.after = NOTE.sub("", pieces[-1])
        said = "; ".join(text for kind, text in NOTE.findall(self.source) if kind == "quick")
        self.quick = [tuple(one.strip().split(" -> ")) for one in said.split(";") if one.strip()]

    def shortened(self, code: str) -> str:
        """The code in its quick form."""
        for long, short in self.quick:
            code = code.replace(long, short)
        return code

    def run(self, quick: bool = False) -> list[Output]:
        """Run all blocks, one after the other, in an empty folder."""
        names: dict[str, Any] = {"__name__": "__main__"}
        outputs = []
        with tempfile.TemporaryDirectory() as folder, inside(Path(folder)):
            for number, block in enumerate(self.blocks):
                code = self.shortened(block.code) if quick else block.code
                outputs.append(run_block(code, names, f"{self.path.name}, block {number + 1}"))
                for fact in [] if quick else block.holds:
                    assert eval(fact, names), f"{self.path.name}: no longer holds: {fact}"
                if outputs[-1].suffix and not block.picture:
                    raise ValueError(f"{self.path.name}, block {number + 1}: a picture needs text.")
        return outputs


@contextmanager
def inside(folder: Path) -> Iterator[None]:
    """Work in a folder, with filters of warnings of one's own."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            for kind in (DeprecationWarning, PendingDeprecationWarning, ResourceWarning):
                warnings.simplefilter("ignore", kind)
            warnings.showwarning = tell_warning
            yield
    finally:
        os.chdir(before)


def run_block(code: str, names: dict[str, Any], where: str) -> Output:
    """Run a block; its last line, if it is an expression, is shown as in a notebook."""
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    try:
        with redirect_stdout(printed):
            exec(compile(tree, where, "exec"), names)
            value = None
            if isinstance(last, ast.Expr):
                value = eval(compile(ast.Expression(last.value), where, "eval"), names)
    except Exception:
        raise RuntimeError(f"{where}:\n{code}\n{traceback.format_exc()}") from None
    figure = figure_of(value)
    if figure is not None:
        suffix, drawn = draw(figure)
        return Output(cleaned(printed.getvalue()), suffix, drawn)
    said = "" if value is None else f"{value!r}\n"
    return Output(cleaned(printed.getvalue() + said), "", b"")


def tell_warning(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
    """Print a warning where the output goes, without the path of a file."""
    print(f"{category.__name__}: {message}")


def cleaned(text: str) -> str:
    """Text that is the same on every machine: without seconds and memory, and not too long."""
    lines = [re.sub(r"; seconds: .*", "", line) for line in text.rstrip().splitlines()]
    lines = [line for line in lines if not line.lstrip().startswith("seconds")]
    if len(lines) > MOST_LINES:
        lines = [*lines[:MOST_LINES], "..."]
    return "\n".join(line.rstrip() for line in lines)


def figure_of(value: Any) -> Any:
    """The figure that an axis, an array of axes or a figure stands for."""
    if isinstance(value, np.ndarray) and value.size and isinstance(value.flat[0], Axes):
        value = value.flat[0]
    figure = getattr(value, "figure", value)
    return figure if hasattr(figure, "savefig") else None


def draw(figure: Any) -> tuple[str, bytes]:
    """The figure as SVG, or as PNG where that would be large."""
    for suffix, settings in (("svg", {"metadata": {"Date": None}}), ("png", {"dpi": 110})):
        file = io.BytesIO()
        with matplotlib.rc_context({"svg.hashsalt": "geodis"}):
            figure.savefig(file, format=suffix, bbox_inches="tight", **settings)
        if len(file.getvalue()) <= MOST_SVG:
            break
    return suffix, file.getvalue()


def as_markdown(page: Page, outputs: list[Output], figures: str, notebook: str) -> str:
    """The page with what its blocks gave below each."""
    head, rest = page.blocks[0].before.split("\n", 1)
    parts = [head, f'\n\n[Take this page as a notebook]({notebook}){{: download="" }}\n', rest]
    for number, (block, output) in enumerate(zip(page.blocks, outputs, strict=True)):
        parts += [block.before if number else "", f"```python\n{block.code}```\n"]
        if output.text:
            parts.append(f'\n<pre class="output" tabindex="0">{html.escape(output.text)}</pre>\n')
        if output.suffix:
            parts.append(f"\n![{block.picture}]({figures}/{number}.{output.suffix})\n")
        parts.append("\n")
    return "".join([*parts, page.after])


def as_notebook(page: Page, outputs: list[Output] | None) -> str:
    """The page as a notebook, with its outputs or without."""
    cells: list[dict[str, Any]] = []

    def add(kind: str, text: str, **more: Any) -> None:
        if text.strip():
            cell = {"cell_type": kind, "id": f"cell{len(cells)}", "metadata": {}}
            cells.append({**cell, "source": text.strip("\n").splitlines(keepends=True), **more})

    for number, block in enumerate(page.blocks):
        add("markdown", absolute_links(block.before, page.path))
        made = [] if outputs is None else list(notebook_outputs(outputs[number]))
        add("code", block.code, outputs=made, execution_count=None)
    add("markdown", absolute_links(page.after, page.path))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    about = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return json.dumps({"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5})


def notebook_outputs(output: Output) -> Iterator[dict[str, Any]]:
    """What a block gave, in the format of notebooks."""
    if output.text:
        yield {"output_type": "stream", "name": "stdout", "text": output.text + "\n"}
    if output.suffix:
        svg = output.suffix == "svg"
        text = output.figure.decode() if svg else base64.b64encode(output.figure).decode()
        data = {"image/svg+xml" if svg else "image/png": text}
        yield {"output_type": "display_data", "data": data, "metadata": {}}


def absolute_links(text: str, path: Path) -> str:
    """Links to other pages, for a notebook that lies anywhere."""
    folder = path.parent.name

    def absolute(match: re.Match[str]) -> str:
        parts = f"{folder}/{match[1]}".split("/")
        while ".." in parts:
            place = parts.index("..")
            del parts[place - 1 : place + 1]
        return f"]({REPOSITORY}/{'/'.join(parts)})"

    return re.sub(r"\]\((?!https?:)([^)]+)\)", absolute, text)
