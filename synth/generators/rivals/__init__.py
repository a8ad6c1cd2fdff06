"""Methods of others: OpenDP's, and the lecture's mechanisms."""
