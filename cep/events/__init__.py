"""Events as they come from outside: files of them as tables, JSON values as those of columns."""
