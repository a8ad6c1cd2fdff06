"""Files as tables of text: CSV, Excel, Parquet, frames; and their writers."""
