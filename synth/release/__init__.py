"""What leaves: the release's files, the stored model, the card. Made from released answers; no row comes here."""
