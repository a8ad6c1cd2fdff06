"""What is publicly known of a table: columns, constraints, values to positions and back."""
