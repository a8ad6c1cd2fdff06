"""Methods that answer a class of linear queries: multiplicative weights and the small database."""
