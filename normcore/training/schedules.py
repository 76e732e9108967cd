"""Schedules of the learning rate over a training."""

from torch.optim import Optimizer

from normcore.spec.training import Training


def follow(training: Training, optimizer: Optimizer, step: int) -> None:
    """Give the optimizer the learning rate of the update after ``step``, and what else the schedule changes."""
    schedule = training.schedule
    if schedule is None or step < schedule.start:
        return
    left = (training.max_steps - step) / (training.max_steps - schedule.start)
    for group in optimizer.param_groups:
        group["lr"] = training.optimizer.lr * left
        if schedule.beta1 is not None:
            group["beta1"] = schedule.beta1
