"""The workers: which are live, what each trains, and what waits for them."""
