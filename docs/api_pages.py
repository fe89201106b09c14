"""The API pages, one a room, made from the stubs that say which names are public.

A hook of MkDocs: the pages are written before the others are collected, so that they cannot fall
behind what the package exports.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
PACKAGE = HERE.parent / "geodis"
PAGES = HERE / "pages" / "api"


class Export(NamedTuple):
    """A public name: what it is called, and the module that defines it or that it is."""

    name: str
    module: str
    is_module: bool

    @property
    def room(self) -> str:
        """The first-level folder or module of the package that it lives in."""
        return self.module.split(".")[1]

    @property
    def path(self) -> str:
        """Where the documentation finds it."""
        return self.module if self.is_module else f"{self.module}.{self.name}"


def on_pre_build(config: Any) -> None:
    """Write a page for every room."""
    write_pages(PAGES)


def write_pages(folder: Path) -> None:
    """Write a page for every room that exports something; a page that has not changed is left."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = {f"{room}.md": page_of(room) for room in rooms()}
    for path in folder.iterdir():
        if path.name not in pages:
            path.unlink()
    for name, text in pages.items():
        if not (folder / name).exists() or (folder / name).read_text(encoding="utf-8") != text:
            (folder / name).write_text(text, encoding="utf-8")


def page_of(room: str) -> str:
    """The page of a room: what it is for, its names with a line each, and then all about them."""
    exports = rooms()[room]
    lines = [f"# geodis.{room}", "", docstring(f"geodis.{room}"), "", "| name | |", "|---|---|"]
    lines += [
        f"| [`{export.name}`](#{export.path}) | {first_line(export).replace('|', chr(92) + '|')} |"
        for export in exports
    ]
    for export in exports:
        lines += ["", f"::: {export.path}", "    options:", "      heading_level: 2"]
        if export.is_module:  # what of it has an entry of its own is not said twice
            members = [name for name in public_names(export.module) if name not in listed(exports)]
            lines.append(f"      members: {members}")
    return "\n".join(lines) + "\n"


@cache
def rooms() -> dict[str, list[Export]]:
    """The exports of every room, in the order of the stubs, each name once; modules come last."""
    collected: dict[str, list[Export]] = {}
    for stub in sorted(PACKAGE.rglob("__init__.pyi"), key=lambda path: -len(path.parts)):
        for export in exports_of(stub):
            if export.is_module and export.module.count(".") == 1:
                continue  # a room has a page of its own
            at_hand = collected.setdefault(export.room, [])
            if export.path not in [other.path for other in at_hand]:
                at_hand.append(export)
    for path in PACKAGE.glob("[a-z]*.py"):  # a room of one file says itself what is public
        for name in names_listed(f"geodis.{path.stem}"):
            collected.setdefault(path.stem, []).append(follow(f"geodis.{path.stem}", name))
    return {room: sorted(names, key=lambda one: one.is_module) for room, names in collected.items()}


def exports_of(stub: Path) -> list[Export]:
    """What a stub exports, every name followed to the module that defines it."""
    package = ".".join(stub.parent.relative_to(PACKAGE.parent).parts)
    exports = []
    for node in ast.parse(stub.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            module = ".".join(filter(None, [package, node.module]))
            exports += [follow(module, alias.name) for alias in node.names]
    return exports


def names_listed(module: str) -> list[str]:
    """What a module says in `__all__` is public; nothing where it does not say."""
    for node in syntax(module).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    return []


def follow(module: str, name: str) -> Export:
    """Find the module that defines a name which a stub takes from `module`."""
    if source_of(f"{module}.{name}") is not None:
        return Export(name, f"{module}.{name}", is_module=True)
    stub = PACKAGE.parent.joinpath(*module.split("."), "__init__.pyi")
    if stub.exists():
        return next(export for export in exports_of(stub) if export.name == name)
    for node in syntax(module).body:  # a module may hand on what another defines
        if isinstance(node, ast.ImportFrom) and name in [alias.asname for alias in node.names]:
            return follow(str(node.module), name)
    return Export(name, module, is_module=False)


def source_of(module: str) -> Path | None:
    """The file of a module, or None where there is none."""
    path = PACKAGE.parent.joinpath(*module.split("."))
    files = path.with_suffix(".py"), path / "__init__.py"
    return next((file for file in files if file.exists()), None)


@cache
def syntax(module: str) -> ast.Module:
    """The syntax tree of a module."""
    path = source_of(module)
    assert path is not None, f"no module {module}"
    return ast.parse(path.read_text(encoding="utf-8"))


def definitions(module: str) -> dict[str, ast.FunctionDef | ast.ClassDef]:
    """Functions and classes of a module by name."""
    kinds = ast.FunctionDef, ast.ClassDef
    return {node.name: node for node in syntax(module).body if isinstance(node, kinds)}


def public_names(module: str) -> list[str]:
    """Functions and classes of a module without a leading underscore."""
    return [name for name in definitions(module) if not name.startswith("_")]


def listed(exports: list[Export]) -> set[str]:
    """Names that have an entry of their own."""
    return {export.name for export in exports if not export.is_module}


def docstring(module: str) -> str:
    """The docstring of a module."""
    return ast.get_docstring(syntax(module)) or ""


def first_line(export: Export) -> str:
    """The first line of the docstring of what is exported; of a constant, what it is."""
    if export.is_module:
        return docstring(export.module).split("\n")[0]
    node = definitions(export.module).get(export.name)
    if node is None:
        return constant(export.module, export.name)
    return (ast.get_docstring(node) or "").split("\n")[0]


def constant(module: str, name: str) -> str:
    """What a module assigns to a name, as code."""
    for node in syntax(module).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            return f"`{ast.unparse(node.value)}`"  # type: ignore[attr-defined]
    return ""
