"""A page is shown below a cell, or in a browser."""

import sys
import types
import webbrowser

import numpy as np

import geodis as gd
from geodis.base import progress
from geodis.base.progress import Stages


class ZMQInteractiveShell:
    """What a notebook's shell is called."""


class Shell(ZMQInteractiveShell):
    """One that others made from it."""


def as_in_a_notebook(monkeypatch, shown):
    shell = types.ModuleType("IPython")
    shell.get_ipython = Shell
    output = types.ModuleType("IPython.display")
    output.display = lambda data, raw: shown.append(data["text/html"])
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "IPython.display", output)


def report():
    points = np.random.default_rng(0).normal(size=(60, 2))
    return gd.report(points, dim=1, n_factors=1, out=None, verbose=0, title="<shown>")


def test_a_notebook_gets_a_frame_that_can_do_nothing_outside(monkeypatch):
    shown: list[str] = []
    as_in_a_notebook(monkeypatch, shown)
    report().show(height=400)
    (frame,) = shown
    assert frame.startswith('<iframe sandbox="allow-scripts"') and "height:400px" in frame
    assert "<shown>" not in frame and "&amp;lt;shown&amp;gt;" in frame


def test_elsewhere_a_browser_opens_the_page(monkeypatch):
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    report().show()
    assert opened[0].startswith("file://") and opened[0].endswith(".html")


def test_progress_is_seen_in_a_notebook_and_gone_at_its_end(monkeypatch, capsys):
    as_in_a_notebook(monkeypatch, [])
    with Stages("fit") as stages, stages.stage("graph"):
        stages.advance(0.5, "half")
    written = capsys.readouterr().err
    assert "fit: graph half 50 %" in written
    assert written.split("\r")[-2].strip() == "" and "\n" not in written
    with Stages("fit", verbose=0) as stages, stages.stage("graph"):
        pass
    assert capsys.readouterr().err == ""
    assert progress.in_notebook()
