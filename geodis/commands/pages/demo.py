"""`geodis demo`: images whose factors are found in a supervised code, and not in their pixels."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geodis.commands.pages.demo_codes import learnt_codes, pixel_components
from geodis.commands.pages.report import nothing_written, report_files
from geodis.commands.shared.options import CommonOptions, option
from geodis.commands.shared.output import list_files, tell

if TYPE_CHECKING:
    import numpy as np

    from geodis.data.scenes.turntable import TurntableSample
    from geodis.report.results import Report

IMAGES, KNOWN, REFUSED = 5000, 2000, 2000
SEEN, SHOWN = 32, 48  # pixels that codes are made of, and of the images on the page
FOUND_TITLE = "5,000 images: what changes from one to another?"
REFUSED_TITLE = "The same images, compared pixel by pixel"
FOUND_ABOUT = (
    "An object on a turntable, lit by a lamp that comes from anywhere. The code is supervised: "
    "each image became {z} numbers by a regression that was fitted to the labels, the true angle "
    "and lamp, of {known:,} other images. The {n:,} images here it had never seen. GeoManCER was "
    "given these numbers alone, without labels, axes or a number of factors: it shows that factors "
    "are found in a good code, not that such a code can be learnt without labels."
)
REFUSED_ABOUT = (
    "{n:,} of the same images, each as the first {z} principal components of its pixels: no labels "
    "were used. Pixels change much when an edge passes over them, and how much depends on "
    "the turn and on the lamp together, so that the points are no product. A method that "
    "always answers would answer here, too; this page says what speaks against believing it."
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

    from geodis.data.scenes.turntable import turntable_images, turntable_sample
    from geodis.report.build import check_out

    def say(text: str) -> None:
        if not common.as_json:
            tell(text)

    out = given.out
    for name in ("images", "pixels"):
        check_out(out / name)
    rng = np.random.default_rng(common.seed)
    say(
        f"{IMAGES:,} images of an object that turns under a lamp that moves, by a code that was "
        f"fitted to the true angle and lamp of {KNOWN:,} others:"
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
    say(f"\nThe same images without that code, {REFUSED:,} of them by their pixels:")
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
    """Write the arrays as a user would have them, and the report on them."""
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
    """How well the maps tell the angle and the lamp, in a sentence."""
    from geodis.base.check import InputError
    from geodis.data.factors import as_factors
    from geodis.scores.grouping.match_given_factors import match_given_factors

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
