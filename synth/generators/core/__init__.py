"""What a user runs: `mixture` and `independent`, their model, related tables, published totals."""
