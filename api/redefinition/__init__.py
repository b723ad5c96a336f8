"""A stream gets a new definition, if the rules that run still fit it."""
