"""The model that most methods fit: a mixture of products of columns, and how rows are drawn from it."""
