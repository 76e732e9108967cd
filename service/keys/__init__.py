"""API keys, which a service asks for when it listens beyond its own machine."""
