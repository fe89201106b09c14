"""Many small models trained as one: their matrices side by side in batched products."""
