"""API keys: what a service that listens beyond its own machine asks for."""
