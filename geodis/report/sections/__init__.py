"""The sections of geodis, in the order in which they are computed, summarised and warned of.

The page's summary has one sentence from each that has one: the first is the manifold's.
"""

from geodis.report.section import Section
from geodis.report.sections.distances import DistancesSection
from geodis.report.sections.how_made import MadeSection
from geodis.report.sections.inspection import InspectionSection
from geodis.report.sections.manifold import ManifoldSection
from geodis.report.sections.maps import MapsSection
from geodis.report.sections.points import PointsSection
from geodis.report.sections.rows_used import RowsSection
from geodis.report.sections.scores import ScoresSection
from geodis.report.sections.walks import WalksSection
from geodis.report.sections.what_more import MoreSection
from geodis.report.sections.which_latent import HeldBySection

OWN_SECTIONS: tuple[Section, ...] = (
    InspectionSection(),
    ManifoldSection(),
    MapsSection(),
    WalksSection(),
    RowsSection(),
    ScoresSection(),
    DistancesSection(),
    PointsSection(),
    HeldBySection(),
    MoreSection(),
    MadeSection(),
)
