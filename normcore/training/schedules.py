"""Schedules of the learning rate over a training."""

from torch.optim import Optimizer

from normcore.spec.training import Training


def follow(training: Training, optimizer: Optimizer, step: int) -> None:
    """Set the optimizer's learning rate, and beta1 if the schedule changes it, for the update after ``step``."""
    schedule = training.schedule
    if schedule is None or step < schedule.start:
        return
    left = (training.max_steps - step) / (training.max_steps - schedule.start)
    for group in optimizer.param_groups:
        group["lr"] = training.optimizer.lr * left
        if schedule.beta1 is not None:
            group["beta1"] = schedule.beta1
