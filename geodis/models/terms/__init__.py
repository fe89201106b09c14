"""What objectives are made of: densities, shared latents, triplets, second players."""
