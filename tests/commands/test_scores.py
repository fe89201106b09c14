"""`geodis scores`: the table, JSON, files, and one sentence for what cannot be used."""

import json

import numpy as np
import pandas as pd
import pytest

import geodis as gd


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    factors = rng.integers(4, size=(300, 2))
    np.save(tmp_path / "z.npy", factors @ rng.standard_normal((2, 3)))
    frame = pd.DataFrame({"shape": np.array(["box", "dot", "line", "oval"])[factors[:, 0]]})
    frame["x"] = factors[:, 1]
    frame.to_csv(tmp_path / "f.csv", index=False)
    return tmp_path


def test_the_table_is_that_of_the_function(geodis, files):
    code, out, err = geodis("scores", files / "z.npy", "--factors", files / "f.csv")
    expected = gd.score_latents(
        np.load(files / "z.npy"), gd.load_factors(files / "f.csv"), verbose=False
    )
    assert (code, err) == (0, "") and out == f"{expected}\n"
    assert "left out, labels: factor 'shape'" in out  # and no order, which some scores need


def test_json_and_choices(geodis, files):
    arguments = ("scores", files / "z.npy", "--factors", files / "f.csv", "--json", "--seed", 3)
    code, out, _ = geodis(*arguments, "--only", "mig", "--only", "unsupervised", "--chance", 0)
    content = json.loads(out)
    assert code == 0 and content["seed"] == 3 and content["settings"]["chance"] == 0
    rows = {row["score"]: row for row in content["rows"]}
    assert "mutual_info_score" in rows and "sap" not in rows and rows["mig"]["chance"] is None


def test_files_are_written_and_listed(geodis, files):
    out = files / "out"
    chosen = ("--only", "mig", "--only", "dci")
    code, printed, _ = geodis(
        "scores", files / "z.npy", "--factors", files / "f.csv", *chosen, "--out", out
    )
    assert code == 0
    written = {path.name for path in out.glob("[!.]*")}
    figures = {"scores.png", "information.png", "importances.png"}
    assert written == {"scores.json", "scores.md"} | figures
    assert all(str(out / name) in printed for name in written)
    assert (out / "information.png").read_bytes().startswith(b"\x89PNG")
    assert "| mig |" in (out / "scores.md").read_text()
    alone = files / "alone"
    geodis(
        "scores",
        files / "z.npy",
        "--factors",
        files / "f.csv",
        "--only",
        "mutual_info_score",
        "--out",
        alone,
        "--json",
    )
    assert {path.name for path in alone.glob("[!.]*")} == {"scores.json", "scores.md"}


def test_bad_input_ends_with_one_sentence(geodis, files):
    np.save(files / "short.npy", np.ones((10, 2)))
    code, _, err = geodis("scores", files / "short.npy", "--factors", files / "f.csv")
    assert code == 2 and "as many rows; got 10 and 300" in err
    code, _, err = geodis("scores", files / "z.npy", "--factors", files / "f.csv", "--only", "elbo")
    assert code == 2 and "got elbo" in err and err.count("\n") == 1


def test_a_file_in_place_of_the_folder_is_refused_before_any_work(geodis, files):
    arguments = ("scores", files / "z.npy", "--factors", files / "f.csv", "--only", "mig")
    code, out, err = geodis(*arguments, "--out", files / "f.csv")
    said = " ".join(err.replace("│", " ").split())  # in a frame as wide as the terminal
    assert code == 2 and out == "" and "Invalid value for '--out'" in said


def test_what_cannot_be_scored_says_what_to_give(geodis, files):
    pd.DataFrame({"angle": np.linspace(0, 1, 300) ** 2}).to_csv(files / "angle.csv", index=False)
    arguments = ("scores", files / "z.npy", "--factors", files / "angle.csv", "--only", "mig")
    code, _, err = geodis(*arguments)
    assert code == 2 and "skipped mig: factor 'angle' is continuous" in err and "--bins" in err
    code, out, _ = geodis(*arguments, "--bins", 5)
    assert code == 0 and "in 5 bins of equal width: angle" in out
    code, _, err = geodis(*arguments, "--jobs", 0)
    assert code != 0 and "n_jobs must be at least 1" in err and "Error" not in err


def test_periods_reach_the_table_and_wrong_ones_are_said(geodis, files):
    arguments = ("scores", files / "z.npy", "--factors", files / "f.csv", "--only", "mig")
    code, out, _ = geodis(*arguments, "--period", "x=4", "--json")
    assert code == 0 and json.loads(out)["settings"]["periods"] == {"x": 4}
    code, _, err = geodis(*arguments, "--period", "shape=4")
    assert code == 2 and "periods must name factors of numbers; got shape, of labels" in err


def test_scores_that_do_not_apply_are_no_success(geodis, tmp_path):
    path = tmp_path / "names.csv"
    path.write_text("name\n" + "".join(f"img_{i}\n" for i in range(300)))
    np.save(tmp_path / "z.npy", np.arange(300.0)[:, None])
    code, out, err = geodis("scores", tmp_path / "z.npy", "--factors", path, "--only", "mig")
    assert code != 0 and not out
    assert "The requested scores must apply; got none: skipped mig: factor 'name' has 300" in err
