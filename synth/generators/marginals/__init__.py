"""Methods that count: one-way and two-way tables, and the mixture fitted to them."""
