"""Drafts: the text of a processor while somebody writes it, checked and tried out, never stored."""
