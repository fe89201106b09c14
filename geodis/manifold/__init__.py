"""From points to the subspaces of their factors, one file per stage of GeoManCER."""
