"""Training: the loop and its parts: order of the data, optimizers, schedules, clipping, evaluation, checkpoints, and
selection of the model whose test value counts.
"""
