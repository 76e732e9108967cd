"""Every number on a board: pure functions on plain values, undefined ones None."""
