"""Results that were measured elsewhere: shown on boards beside the measured ones, and in no statistic of theirs."""
