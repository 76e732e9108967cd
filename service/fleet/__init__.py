"""The workers that are alive, and what each is doing."""
