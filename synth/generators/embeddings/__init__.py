"""Methods that read noisy mean embeddings of the rows."""
