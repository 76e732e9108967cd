"""Report cards: all measurements of one method, from analyses and leaderboards."""
