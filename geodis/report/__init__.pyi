"""Public names, and where each lives: what runs and what type checkers read."""

from .build import report as report, write_report as write_report
from .comparison.many_models import report_many as report_many
from .results import Report as Report
from .analysis import Analysis as Analysis, Part as Part, ReportSettings as ReportSettings
from .section import Section as Section, SectionFigure as SectionFigure
from .registry import register_section as register_section, unregister_section as unregister_section
from .page.render import render_page as render_page
from .material import gather_material as gather_material, Material as Material
