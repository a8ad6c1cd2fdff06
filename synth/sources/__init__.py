"""Where rows live: files and data frames, as tables of text."""
