"""`geodis walk`: the picture, the points, the numbers, and what is refused in one sentence."""

import json

import numpy as np
import pytest

import geodis as gd

TOLD = ("--dim", 3, "--factors", 2, "--quiet")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("walk")
    sample = gd.product_manifold("S^2 x S^1", 800, random_state=0)
    np.save(folder / "z.npy", sample.points)
    np.save(folder / "images.npy", np.arange(800)[:, None, None] * np.ones((1, 4, 4)) / 800)
    return folder


def test_it_writes_what_the_estimator_walks(geodis, folder):
    code, out, err = geodis(
        "walk", folder / "z.npy", "--factor", 0, "--start", 5, "--length", 2, "--steps", 6,
        "--images", folder / "images.npy", "--out", folder / "a", *TOLD,
    )  # fmt: skip
    assert (code, err) == (0, "")
    walk = gd.GeoManCER(3, 2, verbose=0).fit(np.load(folder / "z.npy")).walk(
        5, 0, length=2.0, steps=6
    )  # fmt: skip
    assert out.startswith(f"{walk}\n")
    np.testing.assert_allclose(np.load(folder / "a" / "points.npy"), walk.points)
    told = json.loads((folder / "a" / "walk.json").read_text())
    assert told["nearest"] == walk.nearest.tolist() and told["start"] == 5
    assert told["asked"] == 2 and told["stopped"] is None
    assert (folder / "a" / "walk.png").read_bytes().startswith(b"\x89PNG")
    assert all(str(path) in out for path in (folder / "a").glob("[!.]*"))


@pytest.mark.long
def test_it_goes_to_a_row_and_speaks_json(geodis, folder):
    code, out, _ = geodis(
        "walk", folder / "z.npy", "--factor", 1, "--to", 9, "--out", folder / "b", "--json", *TOLD
    )
    assert code == 0
    told = json.loads(out)
    assert (told["to"], told["direction"], len(told["lengths"])) == (9, None, 16)
    assert (folder / "b" / "walk.png").exists()


def test_a_model_shows_what_its_latents_mean(geodis, folder):
    from geodis.models import VAE, decode
    from geodis.models.saving import save_model

    model = VAE((1, 16, 16), 5, network="vector")
    save_model(model, folder / "run")
    code, _, err = geodis(
        "walk", folder / "z.npy", "--factor", 0, "--length", 1, "--steps", 3, "--model",
        folder / "run", "--out", folder / "c", *TOLD,
    )  # fmt: skip
    assert (code, err) == (0, "")
    points = np.load(folder / "c" / "points.npy")
    assert decode(model, points).shape == (3, 16, 16, 1)
    assert (folder / "c" / "walk.png").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--factor", 5), "factor must be between 0 and 1; got 5"),
        (("--factor", 0, "--start", 800), "start must be rows of the 800 fitted points; got 800"),
        (("--factor", 0, "--length", 0), "length must be more than 0; got 0"),
        (("--factor", 0, "--to", 3, "--length", 1), "goes to a point or for a length; got both"),
        (
            ("--factor", 0, "--images", "z.npy"),
            "an image (h, w), (h, w, 1) or (h, w, 3) for each of the 800",
        ),
        (("--factor", 0, "--images", "images.npy", "--model", "run"), "by --model; got both"),
    ],
)
def test_what_cannot_be_walked_ends_with_one_sentence(geodis, folder, options, message):
    named = [folder / word if str(word).endswith(".npy") else word for word in options]
    code, out, err = geodis("walk", folder / "z.npy", *named, "--out", folder / "no", *TOLD)
    assert code == 2 and out == ""
    assert err.startswith("geodis: ") and message in err
    assert len(err.strip().splitlines()) == 1
    assert not (folder / "no").exists()
