"""What a fitted estimator says of its factors by the product test on their maps."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from geodis.base.check import InputError, MissingResultError
from geodis.base.jobs import one_blas_thread
from geodis.base.progress import Stages
from geodis.manifold.coupling.product_test import ProductTest, product_test
from geodis.manifold.doubts import Doubt, each_once
from geodis.manifold.flat.flat_axes import FlatAxes
from geodis.manifold.local.graph import NeighborGraph
from geodis.manifold.maps.factor_map import FactorMap
from geodis.manifold.task import Settings


class ProductTested:
    """The product test of a fitted `GeoManCER`, made when it is first asked for, and kept.

    It needs the maps, which take longer than many a fit: so a fit alone goes without. When it
    has been made, what it doubts stands among `doubts_` after what the fit doubted.
    """

    verbose: int
    graph_: NeighborGraph
    doubts_: tuple[Doubt, ...]
    uncertain_: bool
    _places: np.ndarray
    _flat: FlatAxes
    _product_test: list[ProductTest]

    @property
    @abstractmethod
    def maps_(self) -> tuple[FactorMap, ...]:
        """The map of every factor."""

    @abstractmethod
    def _check_fitted(self) -> None: ...

    @abstractmethod
    def _settings(self) -> Settings: ...

    @property
    def product_test_(self) -> ProductTest:
        """Whether the metric of each factor depends on the others, and whether maps split again.

        Its doubts are added to `doubts_`, which never lose any.
        """
        self._check_fitted()
        if not self._product_test:
            maps = self.maps_
            with (
                Stages("product test", self.verbose) as stages,
                one_blas_thread(),
                stages.stage("product test"),
            ):
                try:
                    made = product_test(
                        maps,
                        self._places,
                        self._flat.axes,
                        self.graph_,
                        n_jobs=self._settings().n_jobs,
                    )
                except InputError as problem:
                    raise MissingResultError(str(problem)) from problem
            self._product_test.append(made)
            self.doubts_ = each_once((*self.doubts_, *made.doubts))
            self.uncertain_ = bool(self.doubts_)
        return self._product_test[0]
