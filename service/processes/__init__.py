"""The processes of the service: the API, the scheduler, both with workers on one machine, and what each does first."""
