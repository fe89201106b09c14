import json
from typing import Any

import numpy as np
import pytest
import torch

from geodis.base.check import InputError
from geodis.kernels import FeatureLoss, LossKernel, load_kernel, save_kernel
from geodis.kernels.losses.storage import write_tensors


@pytest.mark.parametrize(
    "kernel",
    [
        LossKernel(
            np.arange(18.0).reshape(2, 3, 3), alpha=3.0, loss="mae", support="full", scale=0.2
        ),
        FeatureLoss(2, (3, 4), alpha=0.5, scale=7.0),
    ],
)
def test_what_is_read_is_what_was_written(kernel, tmp_path, rng):
    kernel.made = {"radius": 1, "history": [(50, "pearson", 0.5)], "pixel_loss": float("nan")}
    path = save_kernel(kernel, tmp_path / "kernel.safetensors")
    again = load_kernel(path)
    x, y = rng.uniform(size=(2, 3, 8, 8, 2)).astype(np.float32)
    np.testing.assert_array_equal(again(x, y), kernel(x, y))
    assert type(again) is type(kernel) and repr(again) == repr(kernel)
    assert not any(parameter.requires_grad for parameter in again.parameters())
    assert again.made["radius"] == 1 and again.made["pixel_loss"] is None
    beside = json.loads(path.with_suffix(".json").read_text())
    assert beside["made"] == again.made and beside["kind"] == type(kernel).__name__


def test_bad_files_get_one_sentence(tmp_path):
    with pytest.raises(InputError, match=r"ends in \.safetensors"):
        save_kernel(LossKernel.box(1), tmp_path / "kernel.npy")
    with pytest.raises(InputError, match="function as its pixel loss"):
        save_kernel(LossKernel.box(1, loss=lambda x, y: x - y), tmp_path / "k.safetensors")
    nothing: Any = 3
    with pytest.raises(InputError, match="A LossKernel or FeatureLoss is wanted; int came"):
        save_kernel(nothing, tmp_path / "k.safetensors")
    with pytest.raises(InputError, match=r"nowhere.safetensors is not there; learnt losses"):
        load_kernel(tmp_path / "nowhere.safetensors")
    with pytest.raises(InputError, match="is a folder, not a file"):
        load_kernel(tmp_path)
    (tmp_path / "text.safetensors").write_text("not a kernel")
    with pytest.raises(InputError, match="not a safetensors file that can be read"):
        load_kernel(tmp_path / "text.safetensors")
    write_tensors(tmp_path / "other.safetensors", {"a": torch.zeros(2)}, {})
    with pytest.raises(InputError, match="holds no kernel of geodis"):
        load_kernel(tmp_path / "other.safetensors")
