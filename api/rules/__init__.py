"""The rules of a stream as people see them: what is published beside what one job really runs."""
