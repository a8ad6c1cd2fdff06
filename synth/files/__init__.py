"""Opening and writing files: whole or not at all, regular ones alone. Imports no other room but errors."""
