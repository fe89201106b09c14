"""The logger of geodis: silent by itself, and told of every stage."""

import logging
import subprocess
import sys

import pytest

import geodis as gd
from geodis.base.progress import Stages


def test_a_program_is_told_of_stages_and_their_times(caplog):
    stages = Stages("fit", verbose=0)
    with caplog.at_level(logging.INFO, logger="geodis"), stages, stages.stage("graph"):
        stages.advance(0.5)
    (record,) = caplog.records
    assert record.name == "geodis" and record.getMessage().startswith("fit: graph took 0.")


def test_without_a_handler_nothing_is_printed():
    program = "from geodis.base.progress import LOG; LOG.error('no')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("", "")


def test_a_section_that_fails_is_logged_with_its_place(caplog, monkeypatch):
    from geodis.report.sections.inspection import InspectionSection

    def fail(*_):
        raise ValueError("no words")

    monkeypatch.setattr(InspectionSection, "compute", fail)
    points = gd.product_manifold("S^1", 60, random_state=0).points
    with caplog.at_level(logging.WARNING, logger="geodis"):
        gd.report(points, dim=1, out=None, verbose=0)
    record = next(one for one in caplog.records if "inspection failed" in one.getMessage())
    assert record.exc_info[0] is ValueError


def test_warnings_are_of_one_class():
    points = gd.product_manifold("S^2 x S^1", 700, random_state=0).points
    est = gd.GeoManCER(verbose=0, random_state=0).fit(points)
    with pytest.warns(gd.GeodisWarning, match="1 of 1 points lie beyond"):
        est.transform(points[:1] + 100)
