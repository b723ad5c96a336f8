"""Streaming jobs register and report here; what they run is compared with what is published."""
