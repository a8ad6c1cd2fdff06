"""Generators trained step by step on noisy gradients or votes: the baselines of deep learning under privacy."""
