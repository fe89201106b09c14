"""FactorVAE against beta-VAE at equal reconstruction (seed 003)."""
