"""What people record: populations, walks, noisy products, images and tables, with their truth."""
