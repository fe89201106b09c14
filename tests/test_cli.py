import base64
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from geodis import __version__, cli
from geodis.base.check import InputError
from geodis.commands.options import flat_options
from geodis.commands.output import WRITTEN, OutputFolder
from tests import ROOT
from tests.manifold.maps.test_same_places import twisted_sphere


def test_version(geodis):
    assert geodis("--version") == (0, f"geodis {__version__}\n", "")


def test_the_package_runs_as_a_module():
    asked = [sys.executable, "-m", "geodis", "--version"]
    assert subprocess.check_output(asked, text=True) == f"geodis {__version__}\n"


def test_help_lists_the_commands(geodis):
    code, out, _ = geodis("--help")
    assert code == 0
    assert all(command in out for command in ("inspect", "factorise", "sample", "demo"))


def test_inspect_prints_a_table(geodis, tmp_path):
    np.save(tmp_path / "points.npy", np.random.default_rng(0).standard_normal((200, 2)))
    code, out, err = geodis("inspect", tmp_path / "points.npy")
    assert (code, err) == (0, "")
    assert "200 rows x 2 columns, float64" in out


def test_inspect_prints_json_for_machines(geodis, tmp_path):
    np.savez(tmp_path / "run.npz", z=np.random.default_rng(0).standard_normal((200, 2)), y=[1])
    code, out, _ = geodis("inspect", f"{tmp_path / 'run.npz'}:z", "--json")
    assert code == 0
    content = json.loads(out)
    assert (content["n"], content["d"], content["dimension"]["dim"]) == (200, 2, 2)


def test_inspect_writes_a_report(geodis, tmp_path):
    np.save(tmp_path / "points.npy", np.random.default_rng(0).standard_normal((200, 2)))
    _, out, _ = geodis("inspect", tmp_path / "points.npy", "--out", tmp_path / "out")
    written = sorted(path.name for path in (tmp_path / "out").glob("[!.]*"))
    assert all(str(tmp_path / "out" / name) in out for name in written)
    assert written == ["inspection.json", "inspection.txt", "principal_components.png"]
    assert (tmp_path / "out" / "principal_components.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("missing.npy", None, "missing.npy"),
        ("text.npy", b"not an array", "text.npy"),
        ("empty.csv", b"", "empty.csv"),
        ("points.xyz", b"1 2 3", ".npy"),
        ("short.csv", b"a,b\n1,2\n3,4\n", "at least 4 distinct finite rows; got 2"),
    ],
)
def test_bad_files_end_with_one_sentence_and_code_2(geodis, tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    code, out, err = geodis("inspect", tmp_path / name)
    assert code == 2 and out == ""
    assert err.startswith("geodis: ") and message in err
    assert len(err.strip().splitlines()) == 1


FACTORISED = {
    "axes.npy",
    "factor_dims.npy",
    "flat_coordinates.npy",
    "spectrum.npy",
    "summary.json",
    "spectrum.png",
    "separation.png",
    "directions.png",
    "holonomy.png",
    "coordinates.npy",
    "coordinates.csv",
    "maps.png",
}


@pytest.fixture
def product(tmp_path):
    """A file of points of S^2 x S^1."""
    from geodis import product_manifold

    np.save(tmp_path / "points.npy", product_manifold("S^2 x S^1", 400, random_state=0).points)
    return tmp_path / "points.npy"


def test_factorise_prints_the_summary(geodis, product):
    code, out, err = geodis("factorise", product, "--dim", 3)
    assert (code, err) == (0, "")
    assert "400 points in 5 columns, dimension 3, 2 factors of dimension 2 + 1" in out


def test_factorise_prints_json_for_machines(geodis, product):
    code, out, _ = geodis("factorise", product, "--json", "--seed", 5)
    content = json.loads(out)
    assert code == 0
    assert content["factor_dims"] == [2, 1] and content["seed"] == 5
    assert content["dimension"]["agree"] is True
    assert content["evidence"][0]["n_parallel"] == 1
    assert set(content["versions"]) == {"geodis", "numpy", "scipy", "python"}


def test_factorise_writes_what_it_lists(geodis, product, tmp_path):
    code, out, _ = geodis("factorise", product, "--dim", 3, "--factors", 2, "--out", tmp_path / "f")
    assert code == 0
    written = {path.name: path for path in (tmp_path / "f").glob("[!.]*")}
    assert set(written) == FACTORISED
    for name, path in written.items():
        assert str(path) in out
        if name.endswith(".png"):
            assert path.read_bytes().startswith(b"\x89PNG")
    assert np.load(written["axes.npy"]).shape == (400, 3, 5)
    assert np.load(written["factor_dims.npy"]).tolist() == [2, 1]
    assert (np.diff(np.load(written["spectrum.npy"])) >= 0).all()
    summary = json.loads(written["summary.json"].read_text())
    assert summary["settings"]["n_factors"] == 2
    places = np.load(written["coordinates.npy"])
    head, *lines = written["coordinates.csv"].read_text().splitlines()
    assert places.shape == (400, len(head.split(","))) and len(lines) == 400
    assert head.startswith("factor0_")
    np.testing.assert_allclose(np.loadtxt(lines, delimiter=","), places)
    assert [one["dim"] for one in summary["maps"]] == [2, 1]
    assert sum(one["n_coordinates"] for one in summary["maps"]) == places.shape[1]
    assert all(0 <= one["residual"] < 0.2 for one in summary["maps"])


def test_the_summary_of_a_factorisation_has_the_doubts_that_maps_add(geodis, tmp_path):
    np.save(tmp_path / "tw.npy", twisted_sphere(800, 2))
    folder = tmp_path / "f"
    code, out, _ = geodis("factorise", tmp_path / "tw.npy", "--dim", 3, "--json", "--out", folder)
    assert code == 0
    for text in (out, (folder / "summary.json").read_text()):
        summary = json.loads(text)
        assert summary["uncertain"] is True
        assert any("locally but not globally" in doubt for doubt in summary["doubts"])


def test_factorise_says_why_there_are_no_maps(geodis, tmp_path):
    from geodis import product_manifold

    np.save(tmp_path / "few.npy", product_manifold("S^2", 200, random_state=0).points)
    code, _, err = geodis("factorise", tmp_path / "few.npy", "--dim", 2, "--out", tmp_path / "f")
    assert code == 0
    assert "note: no maps of the factors: A map of a factor needs at least 300 points" in err
    assert not (tmp_path / "f" / "maps.png").exists()
    assert json.loads((tmp_path / "f" / "summary.json").read_text())["maps"] == []


def test_warnings_of_the_fit_are_notes(geodis, tmp_path):
    from geodis import product_manifold

    noisy = product_manifold("S^2", 1500, noise=0.2, random_state=0).points
    np.save(tmp_path / "noisy.npy", noisy)
    code, out, err = geodis("factorise", tmp_path / "noisy.npy", "--json")
    assert code == 0
    assert err.startswith("note: Dimension") and "doubtful" in err
    assert json.loads(out)["warnings"][0] in err


@pytest.mark.parametrize(
    ("points", "options", "message"),
    [
        (np.random.default_rng(0).standard_normal((20, 5)), ["--dim", 4], "at least 31 distinct"),
        (np.full((50, 3), np.nan), [], "NaN in 150"),
        (np.random.default_rng(0).standard_normal((50, 3)), ["--dim", 4], "dim=4 needs as many"),
        (np.random.default_rng(0).standard_normal((50, 3)), ["--tangents", "x"], "one of 'curved'"),
    ],
)
def test_factorise_tells_bad_input_in_one_sentence(geodis, tmp_path, points, options, message):
    np.save(tmp_path / "points.npy", points)
    code, out, err = geodis("factorise", tmp_path / "points.npy", *options)
    assert code == 2 and out == ""
    assert message in err and len(err.strip().splitlines()) == 1


def test_factorise_tells_a_missing_file_in_one_sentence(geodis, tmp_path):
    code, out, err = geodis("factorise", tmp_path / "missing.npy", "--out", tmp_path / "f")
    assert code == 2 and out == ""
    assert "missing.npy" in err and len(err.strip().splitlines()) == 1
    assert not (tmp_path / "f").exists()


def test_factorise_draws_a_curve_that_has_no_fields(geodis, tmp_path):
    from geodis import product_manifold

    np.save(tmp_path / "circle.npy", product_manifold("S^1", 100, random_state=0).points)
    code, _, _ = geodis("factorise", tmp_path / "circle.npy", "--dim", 1, "--out", tmp_path / "f")
    assert code == 0
    assert {path.name for path in (tmp_path / "f").glob("[!.]*")} == FACTORISED
    summary = json.loads((tmp_path / "f" / "summary.json").read_text())
    assert (summary["factor_dims"], summary["evidence"]) == ([1], [])
    assert summary["dimension"]["dim"] == 1  # estimated though it was given, to compare


def test_an_interrupted_factorisation_leaves_whole_files(geodis, monkeypatch, product, tmp_path):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", interrupt)
    code, _, err = geodis("factorise", product, "--dim", 3, "--out", tmp_path / "f")
    assert (code, err) == (130, "geodis: interrupted\n")
    written = sorted(path.name for path in (tmp_path / "f").glob("[!.]*"))
    arrays = ["axes.npy", "factor_dims.npy", "flat_coordinates.npy", "spectrum.npy"]
    assert written == [*arrays, "summary.json"]
    assert np.isfinite(np.load(tmp_path / "f" / "axes.npy")).all()


def test_demo_writes_two_reports_and_says_where(geodis, monkeypatch, tmp_path):
    for name, value in {"IMAGES": 1000, "KNOWN": 800, "REFUSED": 300}.items():
        monkeypatch.setattr(f"geodis.commands.demo.{name}", value)
    code, out, err = geodis("demo", "--out", tmp_path / "demo")
    assert (code, err) == (0, "")
    assert "3-dimensional manifold that splits into 2 factors of dimension 2 and 1" in out
    told = [float(text) for text in re.findall(r"\(R² ([\d.]+)\)", out)]
    assert len(told) == 2 and min(told) > 0.98
    refused = out.split("by their pixels:")[1]
    assert refused.split("\n")[1].strip().startswith("Uncertain: ")
    for folder in ("images", "pixels"):
        made = tmp_path / "demo" / folder
        assert str(made / "index.html") in out
        assert json.loads((made / "results.json").read_text())["manifold"] is not None
    page = (tmp_path / "demo" / "images" / "index.html").read_text()
    assert "codes.npy" in page and "images.npy" in page
    # The code is supervised, and both the terminal and the page say so.
    assert "regression on the true angle and lamp of 800 others" in out
    assert "fitted to the labels (true angle and lamp) of 800 other images" in page
    assert page.count("data:image/jpeg;base64,") == 1 + 2 * 9  # the sheet of the maps, and walks


def report_inputs(folder):
    """Files as a user has them: latents, and factors with a header and labels."""
    rng = np.random.default_rng(0)
    codes = rng.integers(3, size=(200, 2))
    np.save(folder / "z.npy", codes + 0.1 * rng.standard_normal((200, 2)))
    rows = [f"{a},{'xyz'[b]}" for a, b in codes]
    (folder / "f.csv").write_text("\n".join(["size,<b>kind</b>", *rows]) + "\n")
    return folder / "z.npy", folder / "f.csv"


def test_report_writes_what_it_lists(geodis, tmp_path):
    latents, factors = report_inputs(tmp_path)
    out_folder = tmp_path / "r"
    code, out, err = geodis(
        "report", latents, "--factors", factors, "--intervals", 0, "--out", out_folder
    )
    assert (code, err) == (0, "")
    assert re.match("(Uncertain: t|T)he points lie on a ", out)
    for name in ("index.html", "results.json", "figures"):
        assert (out_folder / name).exists() and str(out_folder / name) in out
    names = {path.name for path in (out_folder / "figures").iterdir()}
    assert {"scores.svg", "information.svg", "cloud.svg"} <= names
    page = (out_folder / "index.html").read_text()
    assert "<b>kind" not in page and "Report on z.npy" in page


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["inspect", "points.npy"], "inspection.json"),
        (["factorise", "points.npy"], "coordinates.npy"),
        (["walk", "points.npy", "--factor", 0], "points.npy"),
        (["scores", "points.npy", "--factors", "f.csv"], "scores.md"),
        (["distances", "--data", "xysquares"], "matrices.png"),
        (["train", "--images", "x.npy"], "model.safetensors"),
        (["train", "--images", "x.npy"], "config.json"),
        (["train", "--images", "x.npy"], "checkpoint.safetensors"),
        (["train", "--images", "x.npy"], "history.json"),
        (["train", "--images", "x.npy"], "training.png"),
        (["train", "--images", "x.npy", "--log", "csv"], "history.csv"),
    ],
)
def test_no_command_replaces_a_file_of_others(geodis, monkeypatch, tmp_path, words, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text("mine")
    code, out, err = geodis(*words, "--out", ".")
    assert (code, out) == (2, "")
    assert f"must be a folder in which no file of yours is replaced; got . with {name}" in err
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(name, "mine")]


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["sample", "S^2", "--out", "p.npy"], "p.npy"),
        (["encode", "run", "--out", "z.npz"], "z.npz"),
        (["learn-kernel", "--data", "xysquares", "--out", "k.safetensors"], "k.safetensors"),
        (["learn-kernel", "--data", "xysquares", "--out", "k.safetensors"], "k.json"),
        (["learn-kernel", "--data", "xysquares", "--out", "k.safetensors"], "k.png"),
    ],
)
def test_no_command_replaces_a_single_file_of_others(geodis, monkeypatch, tmp_path, words, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text("mine")
    code, out, err = geodis(*words)
    assert (code, out) == (2, "")
    assert f"must be a file that replaces none of yours; got {name}" in err
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(name, "mine")]


def test_a_single_file_is_replaced_by_the_same_command(geodis, tmp_path):
    words = ("sample", "S^2", "--n", 20, "--out", tmp_path / "p.npy")
    assert geodis(*words)[0] == 0
    assert geodis(*words, "--seed", 1)[0] == 0
    np.save(tmp_path / "p.npy", np.zeros(3))
    code, _, err = geodis(*words)
    assert code == 2 and "p.npy, not written by geodis or changed since" in err
    assert np.load(tmp_path / "p.npy").shape == (3,)


def test_a_folder_or_a_link_in_the_place_of_a_file_is_not_replaced(geodis, tmp_path):
    latents, _ = report_inputs(tmp_path)
    (tmp_path / "inspection.txt").mkdir()
    (tmp_path / "inspection.json").symlink_to(tmp_path / "nothing")
    code, _, err = geodis("inspect", latents, "--out", tmp_path)
    assert code == 2 and "with inspection.json and inspection.txt: choose another folder" in err


def test_images_without_rows_are_told_in_one_sentence(geodis, tmp_path):
    np.save(tmp_path / "z.npy", np.zeros((0, 8, 8), dtype=np.uint8))
    code, out, err = geodis("inspect", tmp_path / "z.npy")
    assert (code, out) == (2, "") and "got 0" in err and len(err.strip().splitlines()) == 1


def test_a_file_that_is_missing_leaves_no_folder(geodis, tmp_path):
    code, _, err = geodis("inspect", tmp_path / "no.npy", "--out", tmp_path / "a" / "b" / "c")
    assert code == 2 and "no.npy" in err and not list(tmp_path.iterdir())


def test_the_list_has_files_of_other_commands_and_every_file_at_once(tmp_path):
    first = OutputFolder(tmp_path, {"a": "one", "b": "two"})
    second = OutputFolder(tmp_path, {"c": "three"})

    def listed():
        return sorted(json.loads((tmp_path / WRITTEN).read_text())["sha256"])

    first.write_text("a", "1")
    first.path("b")  # whose writing may take long, or be killed
    assert listed() == ["a"]
    with second:
        second.write_text("c", "3")
    assert listed() == ["a", "c"]
    with first:
        (tmp_path / "b").write_text("2")
    assert listed() == ["a", "b", "c"]


def test_a_command_replaces_what_it_wrote_and_nothing_that_was_changed(geodis, tmp_path):
    latents, _ = report_inputs(tmp_path)
    (tmp_path / "try").write_text("mine")
    for _ in range(2):
        assert geodis("inspect", latents, "--out", tmp_path)[0] == 0
    assert (tmp_path / "try").read_text() == "mine"
    (tmp_path / "inspection.txt").write_text("with notes of mine")
    code, _, err = geodis("inspect", latents, "--out", tmp_path)
    assert code == 2 and "with inspection.txt: choose another folder" in err
    assert (tmp_path / "inspection.txt").read_text() == "with notes of mine"


def test_control_characters_of_names_and_paths_reach_no_terminal_and_no_svg(geodis, tmp_path):
    latents, factors = report_inputs(tmp_path)
    steering = "\x1b[31mred\x07\x9b2J"
    table = pd.read_csv(factors).replace("x", "\x01")
    factors = tmp_path / "f.parquet"
    table.rename(columns={"size": steering}).to_parquet(factors)
    out_folder = tmp_path / steering
    code, out, err = geodis("report", latents, "--factors", factors, "--intervals", 0,
                            "--out", out_folder)  # fmt: skip
    assert (code, err) == (0, "") and "\N{REPLACEMENT CHARACTER}[31mred" in out
    code, _, err = geodis("report", tmp_path / f"{steering}.npy")
    assert code == 2
    assert not re.search(r"[^\n\t -~\N{NO-BREAK SPACE}-\N{REPLACEMENT CHARACTER}]", out + err)
    figures = list((out_folder / "figures").glob("*.svg"))
    for figure in figures:
        ElementTree.parse(figure)
    assert any("[31mred" in figure.read_text() for figure in figures)
    page = (out_folder / "index.html").read_text()
    for image in re.findall(r"data:image/svg\+xml;base64,([^\"]+)", page):
        ElementTree.fromstring(base64.b64decode(image))


def test_a_terminal_of_ascii_gets_every_word_it_can(tmp_path):
    latents, _ = report_inputs(tmp_path)
    latents.rename(tmp_path / "größe.npy")
    made = subprocess.run(
        [sys.executable, "-m", "geodis", "inspect", "größe.npy", "--out", "größe"],
        cwd=tmp_path, capture_output=True, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), "LC_ALL": "C", "PYTHONIOENCODING": "ascii"},
    )  # fmt: skip
    assert (made.returncode, made.stderr) == (0, b"")
    assert b"gr??e/inspection.json" in made.stdout


@pytest.mark.parametrize(
    "docs",
    ["javascript:alert(1)", " JavaScript:x", "java\tscript:x", "data:text/html,x", "file:///"],
)
def test_documentation_is_an_address_of_the_web_or_a_relative_path(geodis, tmp_path, docs):
    latents, factors = report_inputs(tmp_path)
    given = ["--factors", factors, "--docs", docs, "--out", tmp_path / "r"]
    shutil.copy(latents, tmp_path / "y.npy")
    for words in (["report", latents], ["compare", latents, tmp_path / "y.npy"]):
        code, _, err = geodis(*words, *given)
        assert code == 2 and "docs must be an address with http: or https:" in err
        assert not (tmp_path / "r").exists()


def test_report_prints_json_for_machines(geodis, tmp_path):
    latents, _ = report_inputs(tmp_path)
    code, out, _ = geodis("report", latents, "--json", "--seed", 4, "--out", tmp_path / "r")
    content = json.loads(out)
    assert code == 0 and len(content["summary"]) == 3
    assert content["settings"]["random_state"] == 4
    assert content == json.loads((tmp_path / "r" / "results.json").read_text())


def test_report_tells_bad_input_in_one_sentence_and_writes_nothing(geodis, tmp_path):
    _, factors = report_inputs(tmp_path)
    np.save(tmp_path / "short.npy", np.zeros((5, 2)))
    code, out, err = geodis(
        "report", tmp_path / "short.npy", "--factors", factors, "--out", tmp_path / "r"
    )
    assert code == 2 and out == "" and not (tmp_path / "r").exists()
    assert "got 5 and 200" in err and len(err.strip().splitlines()) == 1


def test_columns_that_are_one_factor_are_one_in_the_report(geodis, monkeypatch, tmp_path):
    seen = []

    def stop(_, factors, *others, **options):
        seen.append((factors.groups, options["groups"]))
        raise InputError("Enough was seen; got factors.")

    monkeypatch.setattr("geodis.report.build.report", stop)
    latents, factors = report_inputs(tmp_path)
    group = ["--factor-group", "both=size,<b>kind</b>", "--out", tmp_path / "r"]
    group += ["--latent-group", "0,1"]
    code, _, err = geodis("report", latents, "--factors", factors, *group)
    assert code == 2 and "Enough was seen" in err
    assert seen == [({"both": ("size", "<b>kind</b>")}, [[0, 1]])]
    code, _, err = geodis("report", latents, *group)
    assert code == 2 and "--factor-group needs --factors; got it without." in err
    code, _, err = geodis("report", latents, "--latent-group", "0,1")
    assert code == 2 and "--latent-group needs --factors; got it without." in err


def test_a_folder_of_images_is_looked_at_and_reported_on(geodis, tmp_path):
    across = np.arange(12)
    for i, place in enumerate(np.random.default_rng(0).uniform(3, 8, 120)):
        spot = np.exp(-((across - place) ** 2 + (across[:, None] - 5) ** 2) / 6)
        Image.fromarray(np.uint8(200 * spot)).save(tmp_path / f"{i}.png")
    code, out, err = geodis("inspect", tmp_path)
    assert (code, err) == (0, "") and re.search(r"points +120 rows x 144 columns, uint8", out)
    code, out, err = geodis("report", tmp_path, "--out", tmp_path / "r", "--intervals", 0)
    assert (code, err) == (0, "") and "counts" not in out
    made = json.loads((tmp_path / "r" / "results.json").read_text())
    assert made["rows"] == {"given": 120, "used": 120, "columns": 144}
    assert made["settings"]["has_images"]
    code, out, err = geodis("factorise", tmp_path, "--json", "--dim", 1)
    assert code == 0 and json.loads(out)["d"] == 144


def test_a_report_takes_counts_metrics_and_times(geodis, monkeypatch, tmp_path):
    seen = {}

    def stop(*_, **options):
        seen.update(options)
        raise InputError("Enough was seen; got options.")

    monkeypatch.setattr("geodis.report.build.report", stop)
    latents, _ = report_inputs(tmp_path)
    np.savetxt(tmp_path / "t.csv", np.arange(200.0))
    words = ["--counts", "--metric", "cosine", "--times", tmp_path / "t.csv"]
    code, _, err = geodis("report", latents, *words)
    assert code == 2 and "Enough was seen" in err
    assert (seen["prepare"], seen["metric"]) == ("sqrt", "cosine")
    np.testing.assert_array_equal(seen["times"], np.arange(200.0))
    assert seen["sources"]["times"] == str(tmp_path / "t.csv")


def test_an_interrupted_report_writes_nothing_and_says_so(geodis, monkeypatch, tmp_path):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    latents, factors = report_inputs(tmp_path)
    monkeypatch.setattr("geodis.report.sections.scores.ScoresSection.compute", interrupt)
    code, _, err = geodis("report", latents, "--factors", factors, "--out", tmp_path / "r")
    assert code == 130 and "Traceback" not in err
    assert f"Nothing was written to {tmp_path / 'r'}." in err and not (tmp_path / "r").exists()


def test_the_help_is_a_table_of_contents(geodis):
    _, out, _ = geodis("--help")
    headings = [out.index(heading) for heading in cli.CONTENTS]
    assert headings == sorted(headings)
    listed = {cli.command_name(each) for commands in cli.CONTENTS.values() for each in commands}
    assert listed == {command.name for command in cli.app.registered_commands}


@pytest.mark.parametrize(
    "command",
    [command for commands in cli.CONTENTS.values() for command in commands],
    ids=cli.command_name,
)
def test_every_command_has_an_example_and_the_same_names(geodis, command):
    name = cli.command_name(command)
    code, out, _ = geodis(name, "--help")
    assert code == 0 and f"`geodis {name}" in out
    assert "Example" in out
    options = set(inspect.signature(flat_options(command)).parameters)
    assert {"seed", "quiet", "as_json"} <= options
    assert {"output", "n_jobs", "random_state", "verbose"}.isdisjoint(options)


def test_errors_that_are_not_the_input_end_with_1_and_debug_shows_them(geodis, monkeypatch):
    def fail(*_, **__):
        raise OSError("disk\nfull")

    monkeypatch.setattr("geodis.data.files.load.load_array", fail)
    code, _, err = geodis("inspect", "x.npy")
    assert code == 1 and err == "geodis: OSError: disk full (--debug shows where)\n"
    with pytest.raises(OSError, match="disk"):
        geodis("inspect", "x.npy", "--debug")


def test_debug_shows_where_bad_input_was_met(geodis):
    with pytest.raises(ValueError, match="there is none of this name"):
        geodis("--debug", "inspect", "missing.npy")


def test_unknown_options_end_with_2(geodis, tmp_path):
    assert geodis("inspect", "x.npy", "--no-such-option")[0] == 2
    assert geodis("no-such-command")[0] == 2


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_can_complete_commands(shell):
    done = subprocess.run(
        [sys.executable, "-c", "from geodis.cli import main; main()"],
        env={
            **os.environ,
            "_GEODIS_COMPLETE": f"complete_{shell}",
            "COMP_WORDS": "geodis re",
            "COMP_CWORD": "1",
            "_TYPER_COMPLETE_ARGS": "geodis re",
            "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert "report" in done.stdout, done.stderr


def test_sample_refuses_other_suffixes(geodis, tmp_path):
    code, _, err = geodis("sample", "S^2", "--out", tmp_path / "points.csv")
    assert code == 2 and "must end in .npy" in err


def test_sample_repeats_with_its_seed(geodis, tmp_path):
    for name in ("a", "b"):
        geodis("sample", "S^2", "--n", 20, "--seed", 3, "--out", tmp_path / f"{name}.npy")
    a, b = (np.load(tmp_path / f"{name}.npy") for name in ("a", "b"))
    np.testing.assert_array_equal(a, b)


def test_interrupt_leaves_no_half_report(geodis, monkeypatch, tmp_path):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    np.save(tmp_path / "points.npy", np.random.default_rng(0).standard_normal((200, 2)))
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", interrupt)
    code, _, err = geodis("inspect", tmp_path / "points.npy", "--out", tmp_path / "out")
    assert code == 130 and "Traceback" not in err  # 128 + SIGINT, as shells have it
    written = sorted(path.name for path in (tmp_path / "out").glob("[!.]*"))
    assert written == ["inspection.json", "inspection.txt"]  # whole, and no temporary file


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "--data", "xysquares", "--model", "vae", "--out", "run"],
        ["encode", "run", "--out", "z.npz"],
        ["traverse", "run"],
        ["learn-kernel", "--data", "xysquares", "--out", "k.safetensors"],
        ["walk", "z.npy", "--factor", "0", "--model", "run", "--out", "w"],
    ],
)
def test_without_torch_a_command_says_how_to_install_it(tmp_path, arguments):
    """In a process of its own, where torch cannot be found."""
    (tmp_path / "run").mkdir()
    np.save(tmp_path / "z.npy", np.random.default_rng(0).standard_normal((60, 2)))
    program = (
        "import sys\n"
        "class NoTorch:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] in ('torch', 'safetensors'):\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, NoTorch())\n"
        "from geodis.cli import main\n"
        "main()\n"
    )
    made = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert made.returncode == 2 and made.stdout == ""
    assert "pip install torch" in made.stderr
    assert len(made.stderr.strip().splitlines()) == 1


def test_a_folder_that_cannot_be_is_said_before_the_points_are_looked_at(
    geodis, monkeypatch, tmp_path
):
    def began(*_, **__):
        raise AssertionError("it began")

    monkeypatch.setattr("geodis.inspection.inspect_points", began)
    (tmp_path / "file").write_text("")
    latents, _ = report_inputs(tmp_path)
    code, out, err = geodis("inspect", latents, "--out", tmp_path / "file" / "x")
    assert (code, out) == (2, "") and "--out must be a folder that can be written to" in err


def test_an_interrupt_while_the_command_is_loading_is_told_in_a_word():
    program = (
        "import sys\n"
        "class Late:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'geodis.cli': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Late())\n"
        "from geodis.__main__ import start\n"
        "start()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "geodis: interrupted\n")
