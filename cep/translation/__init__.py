"""From one language to the other, where both find the same.

pattern tree ◄──► MATCH_RECOGNIZE clause

What has no exact counterpart is refused, with the reason (`NotExact`).
"""
