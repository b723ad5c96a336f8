"""What is published is compared with what jobs really run."""
