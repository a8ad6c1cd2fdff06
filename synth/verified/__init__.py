"""Questions about the private table behind a release: their language, their price, and answers from noisy sums.

Nothing here reads a row: a question is checked, priced and planned on the synthetic rows alone, and answered from
sums that the curator releases (``Score`` under ``Embedding``).
"""
