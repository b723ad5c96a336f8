"""What a source holds, read into columns in the first stage: no Spark here.

values, lines, files ──readers──► columns of the stream, and which rows are malformed
"""
