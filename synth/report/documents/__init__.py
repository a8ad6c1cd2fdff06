"""Documents and catalogue records of a release, made from its card, its schema and what it released: nothing else."""
