"""Lines of Python that give what a page shows."""

from __future__ import annotations

from typing import Any

from geodis.base.text import function_name
from geodis.report.analysis import Analysis, ReportSettings

USUAL = ReportSettings()
SHOWN = (
    "groups", "dim", "n_factors", "prepare", "metric", "max_points", "bins", "intervals", "scores",
    "random_state",
)  # fmt: skip


def seed_argument(settings: ReportSettings) -> str:
    """The seed as it stands in a call."""
    return f"random_state={settings.random_state}"


def fitted_rows(analysis: Analysis) -> str:
    """What the rows are called that GeoManCER was fitted to, all of them or some, and when."""
    used = analysis.factorised
    some = used is not None and len(used.rows) < len(analysis.material.rows)
    of = "report.factorised." if some else ""
    return f"{of}latents" + f", times={of}times" * analysis.settings.has_times


def shown_value(value: Any) -> str:
    """A setting as it stands in a call; of a function its name, or dots where it has none."""
    if not callable(value):
        return repr(value)
    name = function_name(value)
    return name if name.isidentifier() else "..."


def opening_lines(analysis: Analysis) -> str:
    """Python that loads what the report was made from, and draws the same rows."""
    lines = ["import numpy as np", "import geodis as gd", "", *_loading(analysis), ""]
    call = _call(analysis.settings)
    if len(analysis.material.rows) == analysis.material.n_given:
        return "\n".join([*lines, f"report = gd.report({call})  # everything on this page"])
    lines += ["# Rows were left out or drawn; a report keeps those that it used."]
    lines += [f"report = gd.report({call}, out=None)", "latents = report.material.latents"]
    if analysis.settings.has_factors:
        lines.append("factors = report.material.factors")
    if analysis.settings.has_images:
        lines.append("images = images[report.material.rows]")
    if analysis.settings.has_times:
        lines.append("times = report.material.times")
    return "\n".join(lines)


def _loading(analysis: Analysis) -> list[str]:
    """A line for every array that was given; factors with what their columns are."""
    settings, factors = analysis.settings, analysis.material.factors
    loaders = {"latents": "load_array"}
    loaders |= {"factors": "load_factors"} if settings.has_factors else {}
    loaders |= {"images": "load_array"} if settings.has_images else {}
    loaders |= {"times": "load_array"} if settings.has_times else {}
    lines = []
    for name, load in loaders.items():
        file = settings.sources.get(name)
        array, remark = (f"gd.{load}({file!r})", "") if file else ("...", "  # your array")
        if name == "factors" and factors is not None:
            shape: dict[str, Any] = {"periods": dict(factors.periods)} if factors.periods else {}
            shape |= {"groups": dict(factors.groups)} if factors.groups else {}
            if shape:
                told = ", ".join(f"{what}={value!r}" for what, value in shape.items())
                array = f"gd.as_factors({array}, {told})"
        if name == "latents" and file and settings.has_pixels:
            array += f".reshape({analysis.material.n_given}, -1)"
        lines.append(f"{name} = {array}{remark}")
    return lines


def _call(settings: ReportSettings) -> str:
    """The arguments of the report, without those that are usual."""
    arguments = ["latents"]
    arguments += ["factors"] * settings.has_factors + ["images=images"] * settings.has_images
    arguments += ["times=times"] * settings.has_times
    for name in SHOWN:
        if (value := getattr(settings, name)) != getattr(USUAL, name):
            arguments.append(f"{name}={shown_value(value)}")
    return ", ".join(arguments)
