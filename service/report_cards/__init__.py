"""Report cards: what has been measured of one method, by analyses and on leaderboards."""
