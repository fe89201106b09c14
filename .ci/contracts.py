"""Four rules of the house that import-linter does not know, as contract types of its own.

What is private to a room is used in that room alone; inside the package nothing comes through its
front door, where the names of all rooms lie; what few rooms may import, others do not import by
its name either; nor does a room import one above it by its name. All read the source, because an
import says nothing of the names that are used of what was imported.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any, NamedTuple

from importlinter import Contract, ContractCheck, fields, output
from importlinter.api import read_configuration

Breach = tuple[str, int, str]  # module, line, what it does there

# What imports a module by its name, and what that argument is called.
IMPORTERS = ("require", "import_module", "__import__")
NAME_ARGUMENTS = ("module", "name")


class Source(NamedTuple):
    """A file of the tree: the dotted name of its module, the room it lies in, its syntax."""

    module: str
    room: str
    path: Path
    tree: ast.Module


class SourceContract(Contract):
    """A contract that is checked line by line; subclasses say what breaks it."""

    package = fields.StringField()

    def check(self, graph: Any, verbose: bool) -> ContractCheck:
        """Read every file of the root packages and collect the breaches."""
        sources = read_sources(self.session_options["root_packages"], str(self.package))
        breaches = list(dict.fromkeys(self.breaches(sources)))
        return ContractCheck(kept=not breaches, metadata={"breaches": breaches})

    def breaches(self, sources: list[Source]) -> Iterator[Breach]:
        """Every line that breaks the contract."""
        raise NotImplementedError

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print a line for each breach."""
        for module, line, what in check.metadata["breaches"]:
            output.print_error(f"{module}:{line} {what}", bold=False)


class PrivateContract(SourceContract):
    """A module or name with a leading underscore is used only in the room that has it.

    A room is a folder or module directly in `package`; any other root package is one room.
    """

    def breaches(self, sources: list[Source]) -> Iterator[Breach]:
        """Imports of private modules and names, and private attributes only others define."""
        owners: dict[str, set[str]] = {}
        for source in sources:
            for name in private_names(source):
                owners.setdefault(name, set()).add(source.room)
        roots = {source.room.partition(".")[0] for source in sources}
        for source in sources:
            for line, path in imported_paths(source):
                room = room_of(path, str(self.package))
                if (
                    is_private_path(path)
                    and path.partition(".")[0] in roots
                    and room != source.room
                ):
                    yield source.module, line, f"imports {path}, which is private to {room}"
            for line, name in attributes(source.tree):
                rooms = owners.get(name, set())
                if rooms and source.room not in rooms:
                    of = " and ".join(sorted(rooms))
                    yield source.module, line, f"uses {name}, which is private to {of}"


class FrontDoorContract(SourceContract):
    """Inside the package, a name is imported from the room that has it, `__version__` apart."""

    def breaches(self, sources: list[Source]) -> Iterator[Breach]:
        """Imports of the package itself, through which every room could be reached."""
        package = str(self.package)
        rooms = {source.room for source in sources} - {package}
        for source in sources:
            if source.room.partition(".")[0] != package or source.path.suffix == ".pyi":
                continue
            for line, path in imported_paths(source):
                # `from geodis import data` names a room, `from geodis import load_array` does not.
                through_it = path == package or path.rpartition(".")[0] == package
                if through_it and path not in rooms | {f"{package}.__version__"}:
                    yield source.module, line, f"imports {path} through the front door"


class ByNameContract(SourceContract):
    """Some packages are imported by a text, as in `require("torch")`, in a few rooms alone.

    An exception is written "module -> what it imports".
    """

    rooms = fields.SetField(subfield=fields.StringField())
    forbidden = fields.SetField(subfield=fields.StringField())
    exceptions = fields.SetField(subfield=fields.StringField(), required=False, default=set())

    def breaches(self, sources: list[Source]) -> Iterator[Breach]:
        """Calls in other rooms that import such a package, or the part of another that needs it."""
        allowed = {str(room) for room in self.rooms}  # type: ignore[attr-defined]
        forbidden = {str(name) for name in self.forbidden}  # type: ignore[attr-defined]
        excepted = {str(line) for line in self.exceptions}  # type: ignore[attr-defined]
        for source in sources:
            if source.room.partition(".")[0] != str(self.package) or source.room in allowed:
                continue
            for line, path in imported_by_name(source.tree):
                excused = f"{source.module} -> {path}" in excepted
                if forbidden & set(path.split(".")) and not excused:
                    yield source.module, line, f"imports {path} by its name"


class LayersByNameContract(SourceContract):
    """The layers of the package hold for imports by a text too, as `import_module("geodis.plots")`.

    The layers are those of the contract of type "layers" on the package.
    """

    def breaches(self, sources: list[Source]) -> Iterator[Breach]:
        """Calls that import a room which stands higher or beside."""
        package = str(self.package)
        heights = heights_of_rooms(package)
        for source in sources:
            if source.room not in heights:
                continue
            for line, path in imported_by_name(source.tree):
                room = room_of(resolved(path, source), package)
                beneath = heights.get(room, len(heights)) < heights[source.room]
                if room.partition(".")[0] == package and room != source.room and not beneath:
                    yield source.module, line, f"imports {room} by its name, which is not below it"


def heights_of_rooms(package: str) -> dict[str, int]:
    """How high each room stands, as the contract on the layers of the package says."""
    heights = {}
    for contract in read_configuration()["contracts_options"]:
        if contract["type"] == "layers" and package in contract.get("containers", ()):
            for height, layer in enumerate(reversed(contract["layers"])):
                for room in re.split(r"[|:]", layer):
                    heights[f"{package}.{room.strip()}"] = height
    return heights


def read_sources(packages: list[str], divided: str) -> list[Source]:
    """Every file of the packages, of which `divided` has rooms."""
    return [
        Source(module, room_of(module, divided), path, ast.parse(path.read_text(encoding="utf-8")))
        for package in packages
        for module, path in modules_of(package)
    ]


def modules_of(package: str) -> Iterator[tuple[str, Path]]:
    """Dotted names and files of a package, without importing it."""
    spec = PathFinder.find_spec(package)
    assert spec is not None and spec.submodule_search_locations is not None, package
    folder = Path(spec.submodule_search_locations[0])
    for path in sorted((*folder.rglob("*.py"), *folder.rglob("*.pyi"))):
        parts = path.relative_to(folder.parent).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def room_of(path: str, divided: str) -> str:
    """The room of a dotted name: two parts of a package with rooms, one of any other."""
    parts = path.split(".")
    return ".".join(parts[: 2 if parts[0] == divided else 1])


def is_private(name: str) -> bool:
    """Whether a name has one leading underscore; methods of Python's own have two."""
    return name.startswith("_") and not name.startswith("__") and name != "_"


def is_private_path(path: str) -> bool:
    """Whether any part of a dotted name is private."""
    return any(is_private(part) for part in path.split("."))


def imported_paths(source: Source) -> Iterator[tuple[int, str]]:
    """Line and dotted name of everything that a file imports."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package_above(source, node.level)
            origin = ".".join(filter(None, [above, node.module]))
            yield from ((node.lineno, f"{origin}.{alias.name}") for alias in node.names)


def imported_by_name(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and dotted name of every import that is a call with a literal text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and called_name(node) in IMPORTERS:
            given = [*node.args[:1], *(k.value for k in node.keywords if k.arg in NAME_ARGUMENTS)]
            for value in given:
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    yield node.lineno, value.value


def resolved(path: str, source: Source) -> str:
    """A dotted name, where it may begin with the dots of a relative import."""
    name = path.lstrip(".")
    return ".".join(filter(None, [package_above(source, len(path) - len(name)), name]))


def called_name(call: ast.Call) -> str:
    """The last part of what is called: `import_module` of `importlib.import_module`."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def package_above(source: Source, level: int) -> str:
    """The package that the dots of a relative import stand for; "" for no dots."""
    parts = source.module.split(".")
    if source.path.stem != "__init__":
        parts.pop()
    return ".".join(parts[: len(parts) + 1 - level]) if level else ""


def attributes(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and name of every private attribute that is used."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            yield node.lineno, node.attr


def private_names(source: Source) -> Iterator[str]:
    """The private names that a file defines, its own among them."""
    yield from filter(is_private, source.module.split("."))
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and is_private(node.name):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield from filter(is_private, [node.id])
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield from filter(is_private, [node.attr])
        elif isinstance(node, ast.Constant) and str(node.value).isidentifier():
            yield from filter(is_private, [str(node.value)])  # slots, and buffers of a network
