"""Files that are tables: separated text, and columns that lie one after the other."""
