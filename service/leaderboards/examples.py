"""What the description of the API shows: a board with two entries of one seed each."""

from service.experiments.examples import EXPERIMENT_ID, FINGERPRINT
from service.leaderboards.ranking import Center, Speedup, TimeToTarget
from service.leaderboards.schemas import Entry, Leaderboard, LeaderboardList, LeaderboardSummary

LAYER_NORM = Entry(
    rank=1,
    method="layer_norm",
    source="measured",
    fingerprint=FINGERPRINT,
    n_runs=1,
    n_seeds=1,
    value=Center(0.677, None, None),
    steps_to_target=TimeToTarget(100, 1),
    seconds_to_target=TimeToTarget(5.74, 1),
    speedup=Speedup("none", None, None),
    experiments=[EXPERIMENT_ID],
)
LEADERBOARD = Leaderboard(
    task="permuted_digits",
    profile="small",
    metric="accuracy",
    unit="",
    direction="maximize",
    target=0.5,
    rank_by="metric",
    baseline="none",
    entries=[LAYER_NORM],
)
LEADERBOARDS = LeaderboardList(
    items=[LeaderboardSummary(task="permuted_digits", profile="small", n_entries=1, n_runs=1)]
)
