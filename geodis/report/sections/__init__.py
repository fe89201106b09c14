"""The sections of a report, in the order of the page, the summary and the warnings."""

from geodis.report.section import Section
from geodis.report.sections.distances import DistancesSection
from geodis.report.sections.inspection import (
    InspectionSection,
    MadeSection,
    MoreSection,
    RowsSection,
)
from geodis.report.sections.manifold import ManifoldSection, PointsSection
from geodis.report.sections.maps import MapsSection
from geodis.report.sections.scores import ScoreMatrixSection, ScoresSection
from geodis.report.sections.traversals import WalksSection

# Shown after registered sections.
CLOSING_SECTIONS: tuple[Section, ...] = (MoreSection(), MadeSection())
OWN_SECTIONS: tuple[Section, ...] = (
    InspectionSection(),
    MapsSection(),
    WalksSection(),
    ManifoldSection(),
    RowsSection(),
    ScoresSection(),
    PointsSection(),
    DistancesSection(),
    ScoreMatrixSection(),
    *CLOSING_SECTIONS,
)
