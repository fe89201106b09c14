"""Public names, and where each lives: what runs and what type checkers read."""

from .build import report as report, write_report as write_report
from .results import Report as Report
from .page import render_page as render_page
from .material import gather_material as gather_material, Material as Material
