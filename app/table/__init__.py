"""Tables: taken in, stored, described by forms, and whose they are."""
