"""Tables that stay where they are: DuckDB, PostgreSQL, Spark; positions and counts by expressions in the engine."""
