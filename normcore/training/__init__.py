"""Training: the loop, and what it is made of: order of the data, optimizers, schedules, clipping, evaluation, selection
of the model that counts, checkpoints.
"""
