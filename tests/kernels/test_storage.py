import gc
import json
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from geodis.base.check import InputError
from geodis.base.safetensors_files import read_tensors, write_tensors
from geodis.kernels import FeatureLoss, LossKernel, load_kernel, save_kernel
from geodis.kernels.storage import loss_from_config


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
    with pytest.raises(InputError, match="A LossKernel or FeatureLoss is needed; got int"):
        save_kernel(nothing, tmp_path / "k.safetensors")
    with pytest.raises(
        InputError, match=r"nowhere.safetensors must be a \.safetensors file; got none there"
    ):
        load_kernel(tmp_path / "nowhere.safetensors")
    with pytest.raises(InputError, match="file; got a folder"):
        load_kernel(tmp_path)
    (tmp_path / "text.safetensors").write_text("not a kernel")
    with pytest.raises(InputError, match=r"cannot be read as \.safetensors"):
        load_kernel(tmp_path / "text.safetensors")
    write_tensors(tmp_path / "other.safetensors", {"a": torch.zeros(2)}, {})
    with pytest.raises(InputError, match="must say a text as 'kind'; got nothing"):
        load_kernel(tmp_path / "other.safetensors")


@pytest.fixture
def kernel_file(tmp_path):
    return save_kernel(LossKernel(np.ones((3, 3)), support="full"), tmp_path / "k.safetensors")


@pytest.fixture
def features_file(tmp_path):
    return save_kernel(FeatureLoss(2, (3, 4)), tmp_path / "f.safetensors")


def altered(path, *keys, to=None):
    """Set an entry of the note, or drop it."""
    tensors, note = read_tensors(path)
    entry = note
    for key in keys[:-1]:
        entry = entry[key]
    if to is None:
        del entry[keys[-1]]
    else:
        entry[keys[-1]] = to
    write_tensors(path, tensors, note)
    return path


@pytest.mark.parametrize(
    ("keys", "to", "message"),
    [
        (["kind"], None, "must say a text as 'kind'; got nothing"),
        (["kind"], 3, "must say a text as 'kind'; got 3"),
        (["kind"], "Sofa", "must name one of FeatureLoss, LossKernel.*; got 'Sofa'"),
        (["options"], None, "must say an object as 'options'; got nothing"),
        (["options"], [1], r"must say an object as 'options'; got \[1\]"),
        (["made"], None, "must say an object as 'made'"),
        (["made"], "by hand", "must say an object as 'made'; got 'by hand'"),
        (["options", "colour"], "red", "describes what cannot be built: .*'colour'"),
        (["options", "alpha"], "much", "alpha must be a finite number; got 'much'"),
        (["options", "alpha"], {}, "alpha must be a finite number"),
        (["options", "support"], "valid", "support must be one of 'same', 'full'; got 'valid'"),
        (["options", "support"], [], "support must be one of"),
        (["options", "loss"], "l9", "loss must be one of"),
        (["options", "loss"], 3, "loss must be one of"),
    ],
)
def test_altered_notes_of_kernels_get_one_sentence(keys, to, message, kernel_file):
    with pytest.raises(InputError, match=message):
        load_kernel(altered(kernel_file, *keys, to=to))


@pytest.mark.parametrize(
    ("keys", "to", "message"),
    [
        (["kind"], "LossKernel", "cannot be built"),
        (["options", "channels"], None, "cannot be built: .*'channels'"),
        (
            ["options", "channels"],
            3,
            r"layers.0.weight must have shape \(3, 3, 5, 5\); got \(3, 2,",
        ),
        (["options", "channels"], 10**7, r"describes a tensor of shape \(3, 10000000, 5, 5\)"),
        (["options", "widths"], [10**6, 10**6], "describes a tensor of shape"),
        (["options", "widths"], [3], "layers.2.bias must have shape none"),
        (["options", "widths"], "3,4", "widths must be whole numbers"),
        (["options", "widths"], [True], "A width must be an integer"),
    ],
)
def test_altered_notes_of_features_get_one_sentence(keys, to, message, features_file):
    with pytest.raises(InputError, match=message):
        load_kernel(altered(features_file, *keys, to=to))


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({}, "'weights' is missing"),
        ({"weights": torch.ones(2, 2)}, "weights must have an odd size"),
        ({"weights": torch.full((3, 3), torch.nan)}, "must hold finite floats in weights"),
        ({"weights": torch.ones(1, 1, 3, 3), "more": torch.ones(1)}, "more must have shape none"),
    ],
)
def test_other_tensors_than_those_of_a_kernel_get_one_sentence(tensors, message, kernel_file):
    write_tensors(kernel_file, tensors, read_tensors(kernel_file)[1])
    with pytest.raises(InputError, match=message):
        load_kernel(kernel_file)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
@pytest.mark.parametrize("make", [lambda: LossKernel.box(1), lambda: FeatureLoss(1, (2, 2))])
def test_damaged_bytes_load_or_get_one_sentence(make, data, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "damaged.safetensors"
    file = bytearray(save_kernel(make(), path).read_bytes())
    header = 8 + int.from_bytes(file[:8], "little")
    for _ in range(data.draw(st.integers(1, 4))):
        file[data.draw(st.integers(0, header - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(file)
    try:
        loss = load_kernel(path)
    except InputError:
        return
    assert np.isfinite(loss(np.zeros((1, 8, 8, 1)), np.ones((1, 8, 8, 1)))).all()


def test_files_of_before_are_read_still(tmp_path):
    # Without the shape of the weights in the note.
    path = save_kernel(LossKernel.box(2), tmp_path / "k.safetensors")
    again = load_kernel(altered(path, "shape"))
    assert torch.equal(again.weights, LossKernel.box(2).weights)


def test_a_loss_of_the_users_own_is_written_and_read(tmp_path):
    class Blurred(LossKernel):
        """A kernel by another name."""

    again = load_kernel(save_kernel(Blurred.box(2), tmp_path / "b.safetensors"))
    assert type(again) is Blurred and again.radius == 2
    assert loss_from_config(Blurred.box(2).to_config()).weights.shape == (1, 1, 5, 5)


def test_a_name_of_two_losses_is_refused(tmp_path):
    def users_own():
        class FeatureLoss(LossKernel):
            """A loss of the user's own by the name of one of ours."""

        return FeatureLoss

    own = users_own()
    message = r"The name FeatureLoss must mean one class; got geodis\..*FeatureLoss and tests\..*: "
    path = save_kernel(own.box(2), tmp_path / "own.safetensors")
    with pytest.raises(InputError, match=message + "rename one of them"):
        load_kernel(path)
    newer = users_own()  # of the same place: replaces the older, and is refused as well
    with pytest.raises(InputError, match=message):
        loss_from_config(newer.box(2).to_config())
    del own, newer
    gc.collect()
    assert type(loss_from_config(FeatureLoss(2, (3, 4)).to_config())) is FeatureLoss


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"shape": [1, 1, 7, 7]}, r"shape \[1, 1, 7, 7\] that it says; got \[1, 1, 5, 5\]"),
        ({"shape": None}, "shape None that it says"),
        ({"options": {"alpha": -1}}, "cannot be built: alpha must be at least 0; got -1"),
        ({"options": {"loss": {"kind": "LossKernel"}}}, "cannot be built: loss must be one of"),
    ],
)
def test_altered_descriptions_name_the_file(tmp_path, change, message):
    path = save_kernel(LossKernel.box(2), tmp_path / "box.safetensors")
    tensors, note = read_tensors(path)
    write_tensors(path, tensors, {**note, **change})
    with pytest.raises(InputError, match=rf"box\.safetensors .*{message}"):
        load_kernel(path)


@pytest.mark.parametrize("kernel", [LossKernel.box(2), FeatureLoss(1, (2, 2))])
def test_tensors_that_are_no_finite_floats_are_refused(tmp_path, kernel):
    path = save_kernel(kernel, tmp_path / "learnt.safetensors")
    tensors, note = read_tensors(path)
    name = next(iter(tensors))
    for wrong in (torch.full_like(tensors[name], float("nan")), tensors[name].to(torch.int32)):
        write_tensors(path, {**tensors, name: wrong}, note)
        with pytest.raises(InputError, match=rf"must hold finite floats in {name}"):
            load_kernel(path)
