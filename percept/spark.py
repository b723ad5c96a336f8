"""Patterns over Spark DataFrames; needs the extra `spark`."""

from percept._packages import own_packages

with own_packages("cep", "contract", "discoverers", "processor_runtime", extra="spark"):
    from processor_runtime.spark.match_patterns import PatternMatches, match_patterns

__all__ = ["PatternMatches", "match_patterns"]
