"""The processes of the service: the API, the scheduler, or both with workers on one machine; and the first steps of
each.
"""
