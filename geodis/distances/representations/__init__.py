"""How alike two representations of the same things are, whatever their axes."""
