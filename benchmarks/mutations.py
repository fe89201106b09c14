"""Changes made to lines of the source that the tests of the same room should notice.

The changed lines are drawn once, by `--draw`, before any test is run, and stand in
`results/mutations.json` with the function that holds them: later runs make the same changes again,
wherever these lines are by then. Every change is made in a copy of the tree. The tests of the room
run with the first seeds, those nearest to the changed file first, until one fails or the time of
one change is up.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import importlib
import json
import multiprocessing
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks._measure import RESULTS, write_table

ROOT = Path(__file__).parent.parent
# How many lines to change in every room.
ROOMS = {"report": 9, "parts": 6, "scores": 16, "models": 13, "manifold": 22}
# Processor seconds for the tests of one change, and for one test that may not end.
SECONDS, ENDLESS = 10.0, 60.0
# What tests of these rooms import: loaded once, and every run begins as a copy of that process.
HEAVY: tuple[str, ...] = (
    "numpy",
    "scipy.stats",
    "scipy.sparse.linalg",
    "sklearn.ensemble",
    "numba",
    "pandas",
)
HEAVY += ("matplotlib.pyplot", "torch", "h5py")
SWAPPED: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Pow: ast.Mult,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
# What a review of the tests found unnoticed.
REVIEW = (
    (
        "geodis/manifold/holonomy/factor_count.py", "_ratio",
        "variance = (parts - 1) / parts * ((left_out - left_out.mean()) ** 2).sum()",
        "variance = 1 / parts * ((left_out - left_out.mean()) ** 2).sum()",
    ),
    (
        "geodis/manifold/holonomy/factor_count.py", "count_factors",
        "commutators /= width  # the mean over fields: the more fields, the more noise would add "
        "up",
        "pass",
    ),
    (
        "geodis/scores/score_latents.py", "Job.chance",
        "order = self._random(CHANCE, stream).permutation(len(self.latents))",
        "order = self._random(CHANCE, 0).permutation(len(self.latents))",
    ),
    (
        "geodis/report/page/score_cards.py", "",
        'SHOWN = ("groups", "dim", "n_factors", "max_points", "bins", "intervals", "scores", '
        '"random_state")',
        'SHOWN = ("groups", "dim", "n_factors", "max_points", "intervals", "scores", '
        '"random_state")',
    ),
    (
        "geodis/parts/factorise_parts.py", "_second_sample",
        'found.append(number * made["part_rows"] + outside)',
        "found.append(outside)",
    ),
    (
        "geodis/manifold/maps/closed_coordinates.py", "ClosedCoordinates.shortest",
        "around = np.array(list(product((-1, 0, 1), repeat=len(self.periods)))) @ self.periods",
        "around = np.array(list(product((0, 1), repeat=len(self.periods)))) @ self.periods",
    ),
)  # fmt: skip
# Mutants of the present list that change nothing that could be seen: why. They do not count, and
# a list that is drawn anew needs its own.
WITHOUT_EFFECT = {
    "parts 6": "a sum that overflows is followed by a look at every number",
    "scores 5": "the size of a block",
    "scores 10": "other steps of a line search that ends at the same minimum",
    "scores 12": "one neighbour more is sought than is looked at",
    "models 1": "read by type checkers alone",
    "models 4": "the size of a block, and only of half a million latents",
    "manifold 7": "one step more, after a hundred, of a search that converges",
    "manifold 10": "rounding lies far below both",
    "manifold 16": "another column is looked at first; what is found is the same",
}


@dataclass(frozen=True)
class Mutant:
    """One line of the source, and what to put in its place.

    Attributes
    ----------
    name : room and number
    file : path below the root
    function : with the classes and functions around it; "" for a line outside of all
    was, becomes : the line, without its indentation
    """

    name: str
    file: str
    function: str
    was: str
    becomes: str

    def apply(self, source: str) -> tuple[str, int] | None:
        """The changed source and the number of the line; None where there is no such line."""
        lines = source.split("\n")
        first, last = _spans(ast.parse(source)).get(self.function, (1, 0))
        if not self.function:
            last = len(lines)
        for number in range(first - 1, last):
            if lines[number].strip() == self.was:
                lines[number] = lines[number].replace(self.was, self.becomes)
                return "\n".join(lines), number + 1
        return None


def _spans(tree: ast.AST, within: str = "") -> dict[str, tuple[int, int]]:
    """First and last line of every class and function, by their dotted names."""
    found = {}
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            name = f"{within}.{node.name}".lstrip(".")
            found[name] = (node.lineno, node.end_lineno or node.lineno)
            found |= _spans(node, name)
        else:
            found |= _spans(node, within)
    return found


def _changed(node: ast.AST) -> Iterator[ast.AST]:
    """What to put in place of a node."""
    new: Any = copy.deepcopy(node)
    if _is_text(node):
        return
    if isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in SWAPPED:
        new.op = SWAPPED[type(node.op)]()
        yield new
    elif isinstance(node, ast.Compare):
        new.ops[0] = SWAPPED[type(node.ops[0])]()
        yield new
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield new.operand
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        yield ast.Constant(node.value + 1)
    elif isinstance(node, ast.Constant) and type(node.value) is float:
        yield ast.Constant(node.value / 2 or 1.0)
    elif isinstance(node, ast.AugAssign):
        yield ast.Pass()
    elif isinstance(node, ast.Slice):
        for end in ("lower", "upper"):
            if (bound := getattr(node, end)) is not None:
                new = copy.deepcopy(node)
                setattr(new, end, ast.BinOp(bound, ast.Add(), ast.Constant(1)))
                yield new
    elif isinstance(node, ast.Call):
        for left_out in range(len(node.keywords)):
            new = copy.deepcopy(node)
            del new.keywords[left_out]
            yield new
    elif isinstance(node, ast.Return) and isinstance(node.value, ast.BinOp):
        yield ast.Return(ast.UnaryOp(ast.USub(), node.value))


def _is_text(node: ast.AST) -> bool:
    """Whether operators in it join texts or paths, where another would only be an error."""
    value = node.value if isinstance(node, ast.Return) else node
    if not isinstance(value, ast.BinOp):
        return False
    ends = [value.left, value.right]
    texts = [
        isinstance(end, ast.JoinedStr)
        or (isinstance(end, ast.Constant) and isinstance(end.value, str))
        for end in ends
    ]
    names = [end for end in ends if isinstance(end, ast.Name | ast.Attribute)]
    words = [getattr(end, "id", getattr(end, "attr", "")) for end in names]
    return any(texts) or any(word in ("folder", "PAGE", "path") for word in words)


def _sites(tree: ast.AST, within: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Nodes of statements that do something, and the function around them."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        if name == "keywords":  # another axis would only be an error
            children = [word.value for word in value if word.arg not in ("axis", "axes")]
        else:
            children = value if isinstance(value, list) else [value]
        for node in children:
            if not isinstance(node, ast.AST):
                continue
            if isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr):
                continue
            if isinstance(tree, ast.Subscript) and ast.unparse(tree.value).endswith("shape"):
                continue
            inside = within
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                inside = f"{within}.{node.name}".lstrip(".")
            else:
                yield within, node
            yield from _sites(node, inside)


def mutants_of(file: str, source: str) -> list[Mutant]:
    """All changes to lines that stand once in their function."""
    lines, tree, found = source.split("\n"), ast.parse(source), []
    spans = {"": (1, len(lines)), **_spans(tree)}
    for function, node in _sites(tree):
        if not isinstance(node, ast.expr | ast.stmt) or node.lineno != node.end_lineno:
            continue
        line = lines[node.lineno - 1]
        ends = (node.col_offset, node.end_col_offset or 0)
        begin, end = (len(line.encode()[:column].decode()) for column in ends)
        first, last = spans[function]
        was = line.strip()
        if [other.strip() for other in lines[first - 1 : last]].count(was) != 1:
            continue
        for new in _changed(node):
            text = ast.unparse(ast.fix_missing_locations(new))
            if isinstance(node, ast.BinOp | ast.BoolOp | ast.Compare):
                text = f"({text})"
            becomes = (line[:begin] + text + line[end:]).strip()
            if becomes != was:
                found.append(Mutant("", file, function, was, becomes))
    return found


def draw(seed: int) -> list[Mutant]:
    """Those of the review, and mutants of every room, at most one of a function."""
    chosen = [Mutant(f"review {i}", *one) for i, one in enumerate(REVIEW, 1)]
    for room, count in ROOMS.items():
        files = sorted(path.relative_to(ROOT) for path in (ROOT / "geodis" / room).rglob("*.py"))
        every = [
            one for path in files for one in mutants_of(str(path), (ROOT / path).read_text("utf-8"))
        ]
        random.Random(f"{seed} {room}").shuffle(every)
        first = {(one.file, one.function): one for one in reversed(every)}
        kept = [one for one in every if first[one.file, one.function] is one][:count]
        for number, one in enumerate(kept, 1):
            name = f"{room} {number}"
            chosen.append(Mutant(name, one.file, one.function, one.was, one.becomes))
    return chosen


def tests_by_nearness(tree: Path, file: str) -> list[list[str]]:
    """Examples of the file, tests at its path and that name it; its folder's; the room's."""
    path = Path(file)
    room = path.parts[1]
    source = (tree / file).read_text("utf-8")
    defined = [node.name for node in ast.parse(source).body if hasattr(node, "name")]
    names = re.compile(r"\b(" + "|".join([path.stem, *defined]) + r")\b")
    folder = Path("tests", *path.parts[1:-1])

    def far(test: Path) -> tuple[int, int, str]:
        relative = test.relative_to(tree)
        apart = len(os.path.relpath(relative.parent, folder).split("/"))
        if relative == folder / f"test_{path.stem}.py":
            return 0, 0, ""
        if names.search(test.read_text("utf-8")):
            return 1, apart, str(relative)
        return (2 if relative.parent == folder else 3), apart, str(relative)

    tests = sorted((tree / "tests" / room).rglob("test_*.py"), key=far)
    groups: dict[int, list[str]] = {1: [file]}
    for number, test in enumerate(tests):
        kind = max(1, far(test)[0])
        kind += number // 8 if kind == 3 else 0
        groups.setdefault(kind, []).append(str(test.relative_to(tree)))
    return list(groups.values())


def _spent() -> float:
    """Processor seconds of this process and of those that it started."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


class Watch:
    """Notes the first failing test, how many ran, and stops when the time is up."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.begun = seconds, _spent()
        self.failed: list[str] = []
        self.ran = 0
        self.session: Any = None

    def pytest_sessionstart(self, session: Any) -> None:
        """Keep what can be stopped."""
        self.session = session

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Count a test, and look at the time."""
        self.ran += report.when == "call"
        if report.failed:
            self.failed.append(report.nodeid)
        if _spent() - self.begun > self.seconds:
            self.session.shouldstop = "the time is up"

    def pytest_collectreport(self, report: Any) -> None:
        """Note a file that cannot be imported."""
        if report.failed:
            self.failed.append(report.nodeid)


def _child(tree: Path, arguments: list[str], seconds: float, sender: Connection) -> None:
    os.setsid()
    # Processes that tests start import the main module of this one: an empty one.
    sys.modules["__main__"] = ModuleType("__main__")
    most = int(seconds + ENDLESS)
    resource.setrlimit(resource.RLIMIT_CPU, (most, most))
    os.chdir(tree)
    os.environ |= {"PYTHONPATH": str(tree), "GEODIS_TESTS": "quick"}
    for name in [name for name in sys.modules if name.split(".")[0] in ("geodis", "tests")]:
        del sys.modules[name]
    sys.path[:] = [str(tree), *(path for path in sys.path if path not in ("", str(ROOT)))]
    import pytest

    with open(tree / "output.txt", "a") as out:  # noqa: PTH123
        os.dup2(out.fileno(), 1)
        os.dup2(out.fileno(), 2)
    watch = Watch(seconds)
    options = ["-q", "--durations=0", "--durations-min=5", "-p", "no:cacheprovider"]
    pytest.main([*options, *arguments], plugins=[watch])
    sender.send((watch.failed, watch.ran, _spent() - watch.begun))


def run_tests(tree: Path, arguments: list[str], seconds: float) -> tuple[list[str], int, float]:
    """Failing tests, how many ran, for how long; "no end" where the process had to be ended."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(tree, arguments, seconds, sender))
    process.start()
    sender.close()
    group = process.pid  # it leads its own
    assert group is not None
    found: tuple[list[str], int, float] = ["no end"], 0, seconds
    try:
        if receiver.poll(20 * (seconds + ENDLESS)):
            found = receiver.recv()
    except EOFError:
        process.join()
        if process.exitcode not in (-signal.SIGXCPU, -signal.SIGKILL):
            why = f"the tests ended with {process.exitcode}: see {tree}/output.txt"
            raise RuntimeError(why) from None
    finally:  # with what the tests have started, which may wait for ever
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)
        process.join()
    return found


def _compiled_with(tree: Path, file: Path) -> list[Path]:
    """Files whose compiled functions may hold those of this one."""
    compiled = [path for path in (tree / "geodis").rglob("*.py") if "njit" in path.read_text()]
    found, left = [], [file] if file in compiled else []
    while left:
        stem = left.pop().stem
        more = [p for p in compiled if re.search(rf"\b{stem}\b", p.read_text()) and p not in found]
        found += more
        left += more
    return found


@contextlib.contextmanager
def _mutated(tree: Path, mutant: Mutant) -> Iterator[int | None]:
    """The tree with one line changed; compiled functions are made anew before and after."""
    path = tree / mutant.file
    source = path.read_text("utf-8")
    outcome = mutant.apply(source)
    times = {one: one.stat() for one in {path, *_compiled_with(tree, path)}}
    if outcome is not None:
        path.write_text(outcome[0], "utf-8")
        for one in times:
            os.utime(one)
    try:
        yield None if outcome is None else outcome[1]
    finally:
        path.write_text(source, "utf-8")
        for one, stat in times.items():
            os.utime(one, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def examine(
    tree: Path, mutant: Mutant, seconds: float, left_out: set[str], before: str = ""
) -> dict[str, Any]:
    """Change the line, run the tests, that first which noticed before, and say which noticed."""
    options = ["-x", *(f"--deselect={test}" for test in sorted(left_out))]
    failed: list[str] = []
    tests = 0
    with _mutated(tree, mutant) as line:
        if line is None:
            return {"line": None, "now": "gone", "by": "", "tests": 0}
        for group in [[before]] * bool(before) + tests_by_nearness(tree, mutant.file):
            failed, ran, spent = run_tests(tree, [*options, *group], seconds)
            seconds, tests = seconds - spent, tests + ran
            if failed or seconds <= 0:
                break
    now = "caught" if failed else "not caught"
    return {"line": line, "now": now, "by": failed[0] if failed else "", "tests": tests}


def _read() -> list[dict[str, Any]]:
    path = RESULTS / "mutations.json"
    return json.loads(path.read_text("utf-8")) if path.exists() else []


def _mutant(row: dict[str, Any]) -> Mutant:
    file = row["file"].split(":")[0]
    was, becomes = row["was"].strip("`"), row["becomes"].strip("`")
    return Mutant(row["mutant"], file, row["function"], was, becomes)


def _score(rows: list[dict[str, Any]], column: str) -> str:
    counted = [row for row in rows if row["now"] in ("caught", "not caught")]
    caught = sum(row[column] == "caught" for row in counted)
    return f"{caught} of {len(counted)}" + (f" ({caught / len(counted):.0%})" if counted else "")


def _write(rows: list[dict[str, Any]]) -> None:
    drawn = [row for row in rows if not row["mutant"].startswith("review")]
    remarks = [f"caught at first: {_score(drawn, 'at first')}; now: {_score(drawn, 'now')}"]
    for room in ROOMS:
        own = [row for row in drawn if row["mutant"].startswith(room)]
        remarks.append(f"{room}: at first {_score(own, 'at first')}, now {_score(own, 'now')}")
    remarks += [
        "The six of the review were chosen because no test noticed them, and are not counted.",
        f"At most {SECONDS:.0f} processor seconds of tests for each, the nearest tests first: "
        "those farther off may notice more.",
    ]
    write_table("mutations", "Changed lines that tests of the room notice", rows, None, remarks)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draw", type=int, help="seed of a new list of lines to change")
    parser.add_argument("--left", action="store_true", help="only those that were not caught")
    parser.add_argument("--only", nargs="*", default=[], help="names, as manifold-1")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for one change")
    asked = parser.parse_args(arguments or [])
    rows = _read()
    if asked.draw is not None:
        rows = [
            {
                "mutant": one.name,
                "file": one.file,
                "function": one.function,
                "was": f"`{one.was}`",
                "becomes": f"`{one.becomes}`",
                "at first": "",
                "now": "",
                "by": "",
                "tests": 0,
            }
            for one in draw(asked.draw)
        ]
        _write(rows)
        return
    for module in HEAVY:
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        ignored = shutil.ignore_patterns(".git", ".venv", "site", "demo")
        shutil.copytree(ROOT, tree, ignore=ignored, symlinks=True)
        left_out: set[str] = set()
        for row in rows:
            if (reason := WITHOUT_EFFECT.get(row["mutant"])) is not None:
                row.update({"now": "without effect", "by": reason})
        todo = [
            row
            for row in rows
            if row["mutant"] not in WITHOUT_EFFECT
            and (not asked.only or row["mutant"].replace(" ", "-") in asked.only)
            and not (asked.left and row["now"] == "caught")
        ]
        while todo:
            for row in todo:
                before = "" if row["by"] in ("no end", *left_out) else row["by"]
                found = examine(tree, _mutant(row), asked.seconds, left_out, before)
                if (line := found.pop("line")) is not None:
                    row["file"] = f"{row['file'].split(':')[0]}:{line}"
                row.update(found)
                row["at first"] = row["at first"] or row["now"]
                print(row["mutant"], row["now"], row["by"], row["tests"], flush=True)
                _write(rows)
            # A test that fails without the change says nothing about it.
            by = sorted({row["by"] for row in todo} - {"", "no end"})
            bad = set(run_tests(tree, by, 1e4)[0]) if by else set()
            left_out |= bad
            print("fail without a change:", sorted(bad), flush=True)
            todo = [row for row in todo if row["by"] in bad]
    _write(rows)


if __name__ == "__main__":
    main(sys.argv[1:])
