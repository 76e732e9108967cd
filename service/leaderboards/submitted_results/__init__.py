"""Results that were measured elsewhere. Boards show them, but no statistic of measured entries contains them."""
