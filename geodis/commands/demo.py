"""`geodis demo`: images whose factors are found in a supervised code, but not in their pixels."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from geodis.commands.options import CommonOptions, option
from geodis.commands.output import list_files, tell
from geodis.commands.pages import nothing_written, report_files
from geodis.data.scenes.lit_object import TurntableSample

if TYPE_CHECKING:
    from geodis.report.results import Report


# Supervised codes of images: kernel ridge regression of labels on principal components of pixels.

COMPONENTS = 60
# Kernel width in median distances, and ridge, chosen for the smallest errors on other images.
WIDTH, RIDGE = 2.0, 1e-6
SAMPLED, BLOCK = 500, 1000


def pixel_components(known: np.ndarray, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute principal components of the pixels of known images, and project others onto them."""
    from scipy.linalg import eigh

    flat = known.reshape(len(known), -1).astype(np.float32) / np.float32(255)
    mean = flat.mean(axis=0)
    flat -= mean
    n = len(flat)
    count = min(COMPONENTS, n - 1)
    # With fewer images than pixels, the matrix of inner products is the smaller one with this
    # spectrum.
    squares, own = eigh((flat @ flat.T).astype(float), subset_by_index=(n - count, n - 1))
    lengths = np.sqrt(np.maximum(squares[::-1], np.finfo(float).tiny))
    own = own[:, ::-1]
    axes = flat.T @ (own / lengths).astype(np.float32)
    rows = images.reshape(len(images), -1).astype(np.float32) / np.float32(255) - mean
    return own * lengths, (rows @ axes).astype(float)


def learnt_codes(
    known: TurntableSample, own: np.ndarray, new: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Predict codes (n, 5) of images from their components, fitted to the labels of other images.

    The labels of the known images (cosine and sine of the true angle, and direction of the lamp)
    are predicted by ridge regression with a Gaussian kernel ``k(x, y) = exp(-|x - y|^2 / 2 w^2)``.
    A random rotation then mixes the columns, so that no axis is a label.

    Parameters
    ----------
    known : TurntableSample
    own, new : ndarray of shape (k, c), (n, c)
        Components of the known images, and of the images to encode.
    rng : Generator
    """
    from scipy.linalg import solve
    from scipy.spatial.distance import cdist, pdist
    from scipy.stats import special_ortho_group

    labels = np.column_stack([np.cos(known.angles), np.sin(known.angles), known.lights])
    scale = 2 * (WIDTH * np.median(pdist(own[:SAMPLED]))) ** 2
    gram = np.exp(-cdist(own, own, "sqeuclidean") / scale)
    gram[np.diag_indices_from(gram)] += RIDGE
    weights = solve(gram, labels, assume_a="pos")
    blocks = np.array_split(new, -(-len(new) // BLOCK))
    codes = [np.exp(-cdist(rows, own, "sqeuclidean") / scale) @ weights for rows in blocks]
    return np.vstack(codes) @ special_ortho_group.rvs(labels.shape[1], random_state=rng)


IMAGES, KNOWN, REFUSED = 5000, 2000, 2000
SEEN, SHOWN = 32, 48  # pixels of the images that are encoded, and of those on the page
FOUND_TITLE = "5,000 images: what changes from one to another?"
REFUSED_TITLE = "The same images, compared pixel by pixel"
FOUND_ABOUT = (
    "An object on a turntable under a lamp from any direction. The code is supervised: a "
    "regression was fitted to the labels (true angle and lamp) of {known:,} other images, and "
    "turns each of the {n:,} images here into {z} numbers. GeoManCER was given these numbers "
    "alone, without labels, axes or a number of factors. This shows that factors are found in a "
    "good code, not that such a code can be learnt without labels."
)
REFUSED_ABOUT = (
    "{n:,} of the same images, each represented by the first {z} principal components of its "
    "pixels, without labels. Pixels change strongly when an edge passes over them, by an amount "
    "that depends jointly on angle and lamp, so the points are not a product. A method that always "
    "answers would answer here as well; this page lists the evidence against such an answer."
)


@dataclass(frozen=True)
class DemoOptions:
    """Where the demo is written."""

    out: Path = option(Path("demo"), "Folder to write to.")


def demo_command(given: DemoOptions, common: CommonOptions) -> None:
    """Write reports on rendered images: by a supervised code, and by pixels, which is refused.

    Examples: `geodis demo`, `geodis demo --out somewhere --seed 1`
    """
    import numpy as np

    from geodis.data.scenes.lit_object import turntable_images, turntable_sample
    from geodis.report.build import check_out

    def say(text: str) -> None:
        if not common.as_json:
            tell(text)

    out = given.out
    for name in ("images", "pixels"):
        check_out(out / name)
    rng = np.random.default_rng(common.seed)
    say(
        f"{IMAGES:,} images of an object that rotates under a moving lamp, encoded by a "
        f"regression on the true angle and lamp of {KNOWN:,} others:"
    )
    known = turntable_sample(KNOWN, SEEN, random_state=rng)
    drawn = turntable_sample(IMAGES, SEEN, random_state=rng)
    shown = turntable_images(drawn.angles, drawn.lights, SHOWN)
    own, pixels = pixel_components(known.images, drawn.images)
    codes = learnt_codes(known, own, pixels, rng)
    numbers = {"n": IMAGES, "known": KNOWN, "z": codes.shape[1]}
    about = FOUND_ABOUT.format(**numbers)
    found = _report_on("codes", codes, shown, out / "images", (FOUND_TITLE, about), common)
    truth = what_was_found(found, drawn)
    for text in (found.summary[0], truth):
        say(f"  {text}")
    say(f"\nThe same images without that code: {REFUSED:,} of them, by their pixels:")
    pixels = pixels[:REFUSED]
    about = REFUSED_ABOUT.format(n=REFUSED, z=pixels.shape[1])
    titled = REFUSED_TITLE, about
    refused = _report_on("pixels", pixels, shown[:REFUSED], out / "pixels", titled, common)
    say(f"  {refused.summary[0]}")
    files = {**report_files(found), **report_files(refused)}
    if common.as_json:
        made = {str(path): meaning for path, meaning in files.items()}
        summary = [found.summary[0], refused.summary[0]]
        tell(json.dumps({"summary": summary, "accuracy": truth, "made": made}, indent=2))
    else:
        list_files("Made", files)


def _report_on(
    name: str,
    points: np.ndarray,
    images: np.ndarray,
    out: Path,
    titled: tuple[str, str],
    common: CommonOptions,
) -> Report:
    """Write the arrays as files of a user, and a report on them."""
    from geodis.report.build import report, write_report

    title, about = titled
    sources = {"latents": str(out / f"{name}.npy"), "images": str(out / "images.npy")}
    with nothing_written(out):
        made = report(
            points,
            images=images,
            out=None,
            title=title,
            about=about,
            sources=sources,
            **common.settings(),
        )
        arrays = {f"{name}.npy": points, "images.npy": images}
        return write_report(made, out, common.verbose, arrays)


def what_was_found(report: Report, drawn: TurntableSample) -> str:
    """Say in a sentence how well the maps predict the angle and the lamp."""
    from geodis.base.check import InputError
    from geodis.data.factors import as_factors
    from geodis.scores.match_given_factors import match_given_factors

    est = report.manifold
    if est is None:
        return f"No factors were found: {report.parts['manifold'].failure}"
    columns: dict[str, Any] = {"turn": drawn.angles}
    columns |= {f"lamp {axis}": drawn.lights[:, j] for j, axis in enumerate("xyz")}
    lamp = [name for name in columns if name != "turn"]
    truth = as_factors(columns, groups={"lamp": lamp}, periods={"turn": 6.283185307179586})
    try:
        matched = match_given_factors(est, truth)
    except InputError as problem:
        return f"What was found could not be compared with the truth: {problem}"
    found = (
        f"the {one.given} is factor {one.found} (R² {one.told:.3f})"
        if one.found >= 0
        else f"the {one.given} was not found"
        for one in matched
    )
    return f"The truth, which GeoManCER was not given: {', '.join(found)}."
