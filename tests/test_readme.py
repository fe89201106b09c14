"""The README's Python runs and gives what its comments say."""

import json
import re

import numpy as np
import pandas as pd

from analyses.factor_vae_study.claims.score_claims import equal_claims
from analyses.factor_vae_study.run_measures import SCORE
from tests import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_python_blocks_run(capsys):
    blocks = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert blocks
    names: dict = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    assert names["est"].factor_dims_.tolist() == [3, 2]
    assert names["est"].axes_.shape == (5000, 5, 12)
    assert names["est"].subspace(0).shape == (5000, 3, 12)
    angle = names["gd"].subspace_angles(names["subspaces"], names["sample"].tangents).mean()
    np.testing.assert_allclose(angle, 0.001, atol=0.0005)
    assert names["flat"].factor_dims_.tolist() == [1, 1]
    assert names["flat"].flat_coordinates_.shape == (2000, 2)
    assert "2 factors of dimension 3 + 2" in capsys.readouterr().out


def _share(value):
    """A number as this text writes it: .082, -.013."""
    return f"{value:.3f}".replace("0.", ".", 1)


def _gain(rows):
    """FactorVAE at gamma 40 against the beta-VAEs: mean and interval over seeds."""
    (claim,) = [one for one in equal_claims(rows, SCORE, "") if "gamma 40" in one.words]
    found = claim.compared(0.09, 1)
    return _share(found.mean), f"{_share(found.low)} to {_share(found.high)}"


def test_what_is_said_of_seeds_is_what_the_runs_say():
    folder = ROOT / "analyses" / "results" / "factor_vae_study"
    longer, quick = (
        pd.DataFrame(json.loads((folder / name / "results.json").read_text())["rows"])
        for name in (".", "quick")
    )
    said = " ".join(README.split())
    mean, span = _gain(longer)
    assert f"gains {mean} ({span}) in its score" in said
    mean, span = _gain(longer[longer["seed"] < 10])
    assert f"the first ten of the 16 give {mean} ({span})" in said
    mean, span = _gain(quick)
    assert f"the ten of the quick preset {mean} ({span})" in said
    # The same runs but for one seed: what differs is how large its stack was.
    keys = ["name", "strength", "seed"]
    both = longer.merge(quick, on=keys, suffixes=("", " quick"))
    differ = both[both[SCORE] != both[f"{SCORE} quick"]]
    assert set(differ["seed"]) == {9} and len(both) > 100
    (one,) = differ[differ["strength"] == 40].to_dict("records")
    assert f"(score {_share(one[f'{SCORE} quick'])} for {_share(one[SCORE])})" in said


def test_what_is_said_of_sprites_is_in_the_table():
    text = (ROOT / "analyses" / "results" / "triplet_vaes" / "results.md").read_text()
    lines = [line.strip("| ").split(" | ") for line in text.split("| model |")[-1].splitlines()]
    means = {row[0]: [float(cell.split()[0]) for cell in row[2:]] for row in lines[2:]}
    orientation = [row[2] for row in means.values()]
    assert f"({min(orientation):.2f} to {max(orientation):.2f} on average)".replace(
        "0.", "."
    ) in " ".join(README.split())
    shape = f"{means['BetaVAE'][0]:.2f} without triplets, {means['TVAE'][0]:.2f} with"
    assert shape.replace("0.", ".") in README


def test_links_lead_somewhere_from_the_package_index_too():
    here = re.search(r'^Source = "(.*)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert here is not None
    targets = re.findall(r"\]\(([^)\s]+)\)|^\[\w+\]: (\S+)$", README, re.MULTILINE)
    targets = [inline or below for inline, below in targets]
    assert targets and all(target.startswith("https://") for target in targets)
    for target in targets:
        path = target.removeprefix(f"{here[1]}/blob/main/")
        assert path == target or (ROOT / path).exists(), target


def test_the_table_of_rooms_has_every_room_and_folder():
    package = ROOT / "geodis"
    named = set()
    for names, folders in re.findall(r"^\| (`geodis[^|]+)\|([^|]+)\|", README, re.MULTILINE):
        rooms = [ROOT / name for name in re.findall(r"`([\w./]+)`", names)]
        inside = {path.parent.name for room in rooms for path in room.glob("*/__init__.py")}
        told = set(re.findall(r"`(\w+)`", folders))
        assert told <= inside
        assert told == inside or "one a family" in folders, names
        named.update(rooms)
    assert named == {path for path in package.iterdir() if re.match(r"[a-z]\w*(\.py)?$", path.name)}
