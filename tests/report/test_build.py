import html
import importlib
import inspect
import json
import threading
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import geodis as gd
from geodis.base.check import GeodisWarning, InputError
from geodis.base.whole_set import MANIFEST
from geodis.manifold.local.dimension_estimate import points_needed
from geodis.report import build
from geodis.report.comparison.many_models import report_many
from geodis.report.material import gather_material
from geodis.report.page import render
from geodis.report.page.pictures import write_files
from geodis.report.page.render import render_page
from geodis.report.page.score_cards import opening_lines
from geodis.report.sections.distances import DistancesSection
from geodis.report.sections.inspection import InspectionSection
from geodis.report.sections.manifold import ManifoldSection, rows_for
from geodis.report.sections.scores import (
    ScoresSection,
    interval_sentence,
    no_interval_sentence,
    with_intervals,
)
from geodis.scores import ManyScores
from tests.report.example import HOSTILE, example_arrays, example_report

compare_module = importlib.import_module("geodis.report.comparison.compare")
COMPUTING = (InspectionSection, ManifoldSection, ScoresSection, DistancesSection)


@pytest.fixture
def quick(monkeypatch):
    """Every part in no time, for what happens around them."""
    for section in COMPUTING:
        monkeypatch.setattr(section, "compute", lambda *_: None)
    return monkeypatch


def fail(problem):
    def part(*_, **__):
        raise problem

    return part


def test_the_room_is_called_as_its_function():
    assert callable(gd.report) and gd.report.__name__ == "geodis.report"
    assert inspect.signature(gd.report) == inspect.signature(build.report)
    assert gd.Report is importlib.import_module("geodis.report").Report


def test_every_part_is_there_and_equals_its_own_call():
    report = example_report()
    latents, factors, images = example_arrays()
    assert not any(part.failure for part in report.parts.values())
    table = gd.score_latents(latents, factors, ["mig"], verbose=0)
    assert report.scores["mig"] == table["mig"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of pieces and dimensions: the report keeps them as notes
        est = gd.GeoManCER(verbose=0).fit(latents)
    np.testing.assert_array_equal(report.manifold.factor_dims_, est.factor_dims_)
    grid = gd.FactorGrid.from_arrays(images, factors)
    matrix = gd.distances.traversal_matrix(grid, "hue", "ground truth", random_state=0)
    np.testing.assert_array_equal(report.distances.matrices["ground truth"]["hue"], matrix)
    assert set(report.distances.pairs["random"]) == {"ground truth", "perceived", "latent"}


def test_intervals_surround_the_values_and_it_is_said_which_have_none():
    frame = example_report().scores.frame
    some = frame[frame["low"].notna()]
    assert {"modularity", "axis_ratio", "gaussian_total_correlation"} <= set(some.index)
    assert (some["low"] <= some["value"]).all() and (some["value"] <= some["high"]).all()
    latents, factors, _ = example_arrays()
    material = gather_material(latents, factors)
    names = ["mig", "dci", "beta_vae"]
    options = {"bins": 10, "verbose": 0, "random_state": 0}
    table = gd.score_latents(latents, factors, names, **options)
    table = with_intervals(table, material, 30, options)
    assert table.frame.index[table.frame["low"].isna()].tolist() == ["beta_vae"]
    assert interval_sentence(table, 30) == (
        "95 % intervals are from 30 resamplings of the rows (6 for dci); beta_vae has none, "
        "because only scores known to be fast are resampled here (score_latents can resample any "
        "score)."
    )
    # A score of another package may be fast: that it is slow must not be said of it.
    fast = SimpleNamespace(scores={"mig": 0.1, "own": 0.2})
    assert "own has none, because only scores known" in interval_sentence(fast, 30)
    many = SimpleNamespace(scores={"mig": 0.1}, n=5000, n_latents=120)
    assert no_interval_sentence(many, 30) == (
        "Intervals skipped (slow for 120 latents of 5,000 rows); set intervals=31 or more to force "
        "them."
    )
    few = SimpleNamespace(scores={"own": 0.1}, n=100, n_latents=4)
    assert "none of these scores is resampled" in no_interval_sentence(few, 30)
    assert interval_sentence(table, 0) == ""


def test_results_hold_every_number_and_how_it_was_made():
    report = example_report()
    content = json.loads((report.path.parent / "results.json").read_text())
    assert content["scores"]["rows"][0]["score"] == "mig"
    assert content["manifold"]["factor_dims"] == report.manifold.factor_dims_.tolist()
    # Labels without an order are all equally far: along them there is nothing to correlate.
    assert set(content["distances"]["correlations"]["factors"]) == {"size & ${x}", "hue"}
    assert content["settings"]["random_state"] == 0
    assert content["settings"]["sources"]["factors"] == "f.csv"
    assert {"geodis", "numpy", "python"} <= set(content["versions"])
    assert content["summary"] == list(report.summary) and len(content["summary"]) == 3
    assert set(content["seconds"]) == set(report.parts)


def test_labels_are_said_to_have_no_order():
    said = [text for text in example_report().warnings if text.startswith("The labels of")]
    assert len(said) == 1 and f"{HOSTILE} have no order" in said[0]
    assert "all distances between them are equal" in said[0]


def test_a_notebook_shows_the_summary_the_scores_and_the_figures():
    shown = example_report()._repr_html_()
    assert "modularity" in shown and "data:image/svg+xml;base64," in shown
    assert "<script" not in shown and "&lt;script&gt;" in shown


def test_without_factors_the_geometry_stands_alone():
    sphere = gd.product_manifold("S^2", 300, random_state=0).points
    report = gd.report(sphere, out=None, verbose=0)
    assert report.manifold.dim_ == 2
    assert report.scores is None and report.distances is None
    assert report.summary[0].startswith(
        "The points lie on a 2-dimensional manifold that was not split into factors."
    )
    name = report.manifold.names_[0]  # unknown where what counts its holes is not installed
    assert name == "unknown" or f"It is a {name} of radius 1.0." in report.summary[0]
    assert "No factors of variation were given" in report.summary[1]
    assert not any("failed" in text for text in report.warnings)


def test_images_without_factors_give_perceived_distances(quick):
    quick.undo()
    for section in (InspectionSection, ManifoldSection):
        quick.setattr(section, "compute", lambda *_: None)
    values = np.linspace(0, 1, 60)
    images = np.broadcast_to(values[:, None, None], (60, 3, 3))
    report = gd.report(values[:, None], images=images, out=None, verbose=0)
    assert report.distances.perceived_and_latent.spearman == pytest.approx(1)
    assert "rank correlation of 1.00" in report.summary[2]


def test_continuous_factors_are_binned_and_it_is_said():
    rng = np.random.default_rng(0)
    factors = rng.uniform(size=(300, 2))
    report = gd.report(factors + 0.01, factors, bins=4, intervals=0, out=None, verbose=0)
    assert report.scores["mig"] > 0.5
    assert report.distances.correlations is not None
    assert any("4 bins" in text for text in report.warnings)


@pytest.mark.parametrize("section", COMPUTING)
def test_a_part_that_fails_says_so_and_the_others_go_on(quick, section, tmp_path):
    quick.setattr(section, "compute", fail(ZeroDivisionError("of <all> things")))
    report = gd.report(np.eye(20), np.arange(20) % 2, out=tmp_path, verbose=0)
    failed = [part for part in report.parts.values() if part.applies and part.failure]
    assert [part.failure for part in failed] == ["ZeroDivisionError: of <all> things"]
    assert any("ZeroDivisionError: of <all> things" in text for text in report.warnings)
    page = (tmp_path / "index.html").read_text()
    assert "of &lt;all&gt; things" in page and "of <all>" not in page
    content = json.loads((tmp_path / "results.json").read_text())
    assert "ZeroDivisionError: of <all> things" in content["failures"].values()


@pytest.mark.parametrize("place", ["a section", "the figures", "the page"])
def test_an_interrupt_writes_nothing_and_leaves_what_was_there(quick, tmp_path, place):
    stopped = {
        "a section": (ScoresSection, "compute"),
        "the figures": (render, "draw_pictures"),
        "the page": (render, "render_page"),
    }
    gd.report(np.eye(19), np.arange(19) % 2, out=tmp_path / "old", verbose=0)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    quick.setattr(*stopped[place], fail(KeyboardInterrupt()))
    for folder in ("old", "new"):
        with pytest.raises(KeyboardInterrupt):
            gd.report(np.eye(20), np.arange(20) % 2, out=tmp_path / folder, verbose=0)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert not (tmp_path / "new").exists()


def test_a_report_replaces_the_one_before_as_a_whole(quick, tmp_path):
    labels = np.arange(20) % 2
    quick.setattr(
        render, "write_files", lambda files, folder: write_files({"of_before": ""}, folder)
    )
    gd.report(np.eye(20), labels, out=tmp_path, verbose=0)
    figures = tmp_path / "figures"
    assert (figures / "of_before.svg").exists()
    quick.setattr(render, "write_files", write_files)
    gd.report(np.eye(20)[::-1], labels, out=tmp_path, verbose=0)
    assert not (figures / "of_before.svg").exists() and (figures / "cloud.svg").exists()
    assert [path.name for path in tmp_path.glob(".*")] == [MANIFEST]


@pytest.mark.parametrize("made", ["report", "compare", "report_many"])
@pytest.mark.parametrize("earlier", [True, False])
def test_files_of_others_are_never_replaced(quick, tmp_path, made, earlier):
    def write():
        if made == "report":
            gd.report(np.eye(20), np.arange(20) % 2, out=tmp_path, verbose=0)
        elif made == "compare":
            gd.compare([np.eye(20), np.eye(20)], out=tmp_path, verbose=0)
        else:
            report_many(ManyScores.of_models({"a": ([], "bad")}), tmp_path)

    if earlier:
        write()
    own = ["paper.tex", "figures/paper.svg", "figures/paper.png"]
    own += [] if earlier else ["index.html", "report.html", "results.json"]
    (tmp_path / "figures").mkdir(exist_ok=True)
    for name in own:
        (tmp_path / name).write_text("mine")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    quick.setattr(build, "gather_material", fail(AssertionError("it began")))
    quick.setattr(compare_module, "gather_runs", fail(AssertionError("it began")))
    with pytest.raises(InputError, match=r"must be new, empty, .*; got .*paper.*: name another"):
        write()
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_what_is_found_is_told_at_once(quick):
    quick.setattr(InspectionSection, "compute", lambda *_: gd.inspect_points(np.eye(20)))
    told = []

    def stop(*_):
        told.append("the scores begin")

    quick.setattr(ScoresSection, "compute", stop)
    gd.report(np.eye(20), np.arange(20) % 2, out=None, verbose=0, tell=told.append)
    assert told[0].startswith("20 points in 20 columns") and "the scores begin" in told[1:]


def test_the_hash_is_that_of_the_data_and_not_of_the_settings(quick):
    def made(scale, **options):
        return gd.report(scale * np.eye(20), np.arange(20) % 2, out=None, verbose=0, **options)

    first = made(1.0)
    assert first.data_hash == made(1.0, title="x", bins=4).data_hash != made(2.0).data_hash
    assert first.to_dict()["data_hash"] == first.data_hash and len(first.data_hash) == 64


def test_warnings_of_a_part_are_kept(quick):
    def part(*_):
        warnings.warn("mind the gap", stacklevel=2)
        np.square(np.array([1e200]))

    quick.setattr(DistancesSection, "compute", part)
    report = gd.report(np.eye(20), np.arange(20) % 2, out=None, verbose=0)
    assert report.parts["distances"].notes == [
        "mind the gap",
        "Numerical warning (distances): overflow encountered in square.",
    ]
    assert "mind the gap" in report.warnings


def test_a_figure_that_fails_is_told_and_leaves_the_rest(quick, tmp_path, monkeypatch):
    quick.setattr(InspectionSection, "compute", lambda *_: gd.inspect_points(np.eye(20)))
    drawing = "geodis.report.sections.inspection.principal_spectrum_figure"
    monkeypatch.setattr(drawing, fail(ValueError("no ink")))
    report = gd.report(np.eye(20), np.arange(20) % 2, out=tmp_path, verbose=0)
    assert any("principal_components could not be drawn: no ink" in w for w in report.warnings)
    assert list(report.figures) == ["cloud"] and report.figures["cloud"].exists()


def test_high_dimensions_are_left_out_with_the_way_to_ask_for_them():
    latents = np.random.default_rng(0).standard_normal((400, 40))
    report = gd.report(latents, out=None, verbose=0)
    assert "dim (--dim)" in report.parts["manifold"].failure
    assert "were not split into factors" in report.summary[0]


def test_points_that_are_evenly_spaced_have_no_dimension_to_speak_of():
    report = gd.report(np.eye(20), out=None, verbose=0)
    assert "evenly spaced" in report.parts["manifold"].failure
    assert report.summary[0].startswith("The dimension of the points could not be estimated")


def test_large_dimensions_take_fewer_rows_but_enough():
    assert rows_for(2) > 10_000 > rows_for(8) >= points_needed(8)[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dim": 0}, "dim must be at least 1"),
        ({"intervals": -1}, "intervals must be at least 0"),
        ({"random_state": "x"}, "random_state must be an integer"),
    ],
)
def test_bad_settings_are_said_before_the_work(options, message):
    with pytest.raises(InputError, match=message):
        gd.report(np.eye(5), out=None, verbose=0, **options)


def test_a_folder_that_cannot_be_is_said_before_the_work(quick, tmp_path):
    quick.setattr(build, "run_sections", fail(AssertionError("it began")))
    (tmp_path / "file").write_text("")
    with pytest.raises(
        InputError, match=r"out must be a folder .*; got .*file/x \(Not a directory"
    ):
        gd.report(np.eye(5), out=tmp_path / "file" / "x", verbose=0)


def test_the_same_seed_gives_the_same_numbers():
    rng = np.random.default_rng(3)
    factors = rng.integers(3, size=(150, 2))
    latents = factors + 0.1 * rng.standard_normal((150, 2))
    first, second = (
        gd.report(latents, factors, intervals=0, out=None, verbose=0, random_state=7).to_dict()
        for _ in range(2)
    )
    for content in (first, second):
        del content["seconds"], content["manifold"]["seconds"], content["date"]
        for row in content["scores"]["rows"]:
            del row["seconds"]
    assert first == second


def test_rows_are_prepared_and_compared_as_in_a_fit():
    """The report on counts, on lengths that mean nothing, and on distances, beside the fits."""
    turn = 2 * np.pi * np.random.default_rng(0).random(300)
    ring = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    counts = np.random.default_rng(1).poisson(400 * (1 + ring @ [[1, 0.5, -1], [0.2, 1, 0.7]]) ** 2)
    scaled = ring * np.random.default_rng(2).uniform(1, 9, 300)[:, None]
    distances = np.linalg.norm(ring[:, None] - ring, axis=2)
    for rows, options in (
        (counts, {"prepare": "sqrt"}),
        (scaled, {"metric": "cosine"}),
        (distances, {"metric": "precomputed"}),
        (scaled, {"prepare": _unit_rows}),
    ):
        made = gd.report(rows, out=None, verbose=0, **options)
        fit = gd.GeoManCER(**options, random_state=0, verbose=0).fit(rows)
        assert made.manifold.factor_dims_.tolist() == fit.factor_dims_.tolist() == [1]
        np.testing.assert_allclose(np.abs(made.manifold.axes_), np.abs(fit.axes_), atol=1e-6)
        seen = gd.inspect_points(rows, **options, random_state=0)
        assert made.inspection.dimension.dim == seen.dimension.dim == 1
        name, value = next(iter(options.items()))
        told = "_unit_rows" if callable(value) else value
        assert json.loads(json.dumps(made.to_dict()))["settings"][name] == told
        page = html.unescape(render_page(made))
        told = told if callable(value) else repr(value)
        assert page.count(f"{name}={told}") == 2  # the report, and the fit
    assert made.material.latents.shape == (300, 2)
    with pytest.raises(InputError, match=r"at most max_points \(100\) rows; got 300"):
        gd.report(distances, metric="precomputed", max_points=100, out=None, verbose=0)
    with pytest.raises(InputError, match="metric must be one of"):
        gd.report(ring, metric="manhattan", out=None, verbose=0)


def _unit_rows(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_times_reach_the_fit_with_their_rows(monkeypatch):
    from geodis import GeoManCER

    seen, fit = [], GeoManCER.fit

    def told(self, X, y=None, **options):
        seen.append((X, options["times"]))
        return fit(self, X, y, **options)

    monkeypatch.setattr(GeoManCER, "fit", told)
    turn = np.linspace(0, 6 * np.pi, 900)
    ring = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    ring[7] = np.nan
    made = gd.report(ring, times=turn, max_points=500, out=None, verbose=0)
    (rows, times), *_ = seen
    np.testing.assert_allclose(rows, np.stack([np.cos(times), np.sin(times)], axis=1))
    assert len(times) == 500 == len(made.material.times)
    page = render_page(made)
    assert "times=times" in page and "times = report.material.times" in page
    with pytest.raises(InputError, match="latents and times must have as many rows; got 900 and 3"):
        gd.report(ring, times=[1, 2, 3], out=None, verbose=0)


def test_images_are_rows_of_pixels_and_never_counts():
    rng = np.random.default_rng(0)
    across = np.arange(12)
    place = rng.uniform(3, 8, (240, 1, 1))
    spot = np.exp(-((across - place) ** 2 + (across[:, None] - 5) ** 2) / 6)
    images = np.uint8(200 * spot)[..., None]
    made = gd.report(images, out=None, verbose=0, sources={"latents": "spots"})
    assert made.material.latents.shape == (240, 144) and made.settings.has_images
    assert "latents = gd.load_array('spots').reshape(240, -1)" in opening_lines(made)
    assert made.settings.sources["images"] == "spots"
    assert not any("counts" in warning for warning in made.warnings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GeodisWarning)  # of the dimension, which makes the doubts

        def doubts(pixels):
            return " ".join(gd.GeoManCER(dim=2, random_state=0, verbose=0).fit(pixels).doubts_)

        pixels = images.reshape(240, -1)
        brightest = np.where(pixels == pixels.max(), 255.0, pixels)
        assert "leave dim out" in doubts(pixels) and "counts" not in doubts(pixels)
        assert "leave dim out" in doubts(brightest) and "counts" not in doubts(brightest)
        assert "if they are counts" in doubts(pixels.astype(float))


class _NoCopy:
    """A preparation that cannot be copied, and has no name."""

    def __init__(self):
        self.lock = threading.Lock()

    def __call__(self, rows):
        return rows + 0


def test_a_preparation_may_be_any_object_that_can_be_called():
    ring = np.random.default_rng(0).normal(size=(60, 3))
    made = gd.report(ring, prepare=_NoCopy(), out=None, verbose=0)
    assert made.to_dict()["settings"]["prepare"] == "_NoCopy"
    nameless = gd.report(ring, prepare=lambda rows: rows + 0, out=None, verbose=0)
    assert "prepare=..." in render_page(nameless)


def test_bytes_beside_other_images_are_rows_in_the_lines_of_python():
    pixels = np.random.default_rng(0).integers(0, 256, (60, 6, 6), dtype=np.uint8)
    files = {"latents": "pixels.npy", "images": "others.npy"}
    made = gd.report(pixels, images=pixels[..., None], sources=files, out=None, verbose=0)
    assert "gd.load_array('pixels.npy').reshape(60, -1)" in html.unescape(render_page(made))


def test_no_images_are_refused_in_a_sentence():
    with pytest.raises(InputError, match="latents must have shape"):
        gd.report(np.zeros((0, 8, 8), np.uint8), out=None, verbose=0)


def test_control_characters_of_names_are_not_in_the_page():
    rows = np.random.default_rng(0).normal(size=(60, 2))
    factors = {"a\x01b": np.arange(60) % 3, "c": np.arange(60) % 2}
    page = render_page(gd.report(rows, factors, out=None, verbose=0))
    assert "\x01" not in page and "a\N{REPLACEMENT CHARACTER}b" in page
