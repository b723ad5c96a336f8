"""Patterns over Spark DataFrames, in either language; needs the extra `spark`."""

from percept._packages import own_packages

with own_packages("cep", "contract", "discoverers", "processor_runtime", extra="spark"):
    from processor_runtime.spark.frames.match_patterns import PatternMatches, match_patterns
    from processor_runtime.spark.frames.match_recognize import match_recognize

__all__ = ["PatternMatches", "match_patterns", "match_recognize"]
