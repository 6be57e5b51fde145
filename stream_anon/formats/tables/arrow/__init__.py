"""Arrow columns: tables and frames in, tables and frames out, and Parquet files. Needs the extra `frames`."""
