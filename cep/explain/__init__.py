"""What a pattern is, shown to people: as a state graph, as a drawing, in the other language.

Program of a pattern, states of a row pattern ──► StateGraph ──► DOT, SVG, JSON
"""
