"""The sections of a report, in the order in which the page, the summary and the warnings have them.

A new section goes into this list at its place.
"""

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
from geodis.report.sections.scores import HeldBySection, ScoresSection
from geodis.report.sections.traversals import WalksSection

# After the sections that others add.
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
    HeldBySection(),
    *CLOSING_SECTIONS,
)
