"""The flat part, of which transport says nothing -> coordinates, periods, factors."""
