"""A visitor's session: who it is, what the wizard remembers, the head and the words of every page."""
