"""The README's Python runs and gives what its comments say."""

import re

import numpy as np

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
    angle = names["gd"].subspace_angles(names["found"], names["sample"].tangents).mean()
    np.testing.assert_allclose(angle, 0.001, atol=0.0005)
    assert names["flat"].factor_dims_.tolist() == [1, 1]
    assert names["flat"].flat_coordinates_.shape == (2000, 2)
    assert "2 factors of dimension 3 + 2" in capsys.readouterr().out
