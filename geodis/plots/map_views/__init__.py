"""How the map of a factor is drawn: as the globe, ball, square, circle or line that it is."""
