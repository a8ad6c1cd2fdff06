"""The arithmetic of privacy: events, their composition, and the epsilon that follows."""
