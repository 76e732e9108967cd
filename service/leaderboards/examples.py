"""What the description of the API shows: a board with two entries of one seed each."""

from normcore.problem import own_budget, own_problem
from service.experiments.examples import EXPERIMENT_ID, FINGERPRINT
from service.leaderboards.ranking import Center, Speedup, TimeToTarget
from service.leaderboards.schemas import Entry, Leaderboard, LeaderboardList, LeaderboardSummary, Problem

LAYER_NORM = Entry(
    rank=1,
    method="layer_norm",
    source="measured",
    fingerprint=FINGERPRINT,
    budget=own_budget("permuted_digits", "small"),
    n_runs=1,
    n_seeds=1,
    value=Center(0.677, None, None),
    steps_to_target=TimeToTarget(100, 1),
    seconds_to_target=TimeToTarget(5.74, 1),
    values={"accuracy": Center(0.677, None, None)},
    speedup=Speedup("none", None, None),
    experiments=[EXPERIMENT_ID],
)
OWN = own_problem("permuted_digits", "small")
PROBLEM = Problem(OWN.id, "the profile's own", dict(OWN.options), note=None)
LEADERBOARD = Leaderboard(
    task="permuted_digits",
    profile="small",
    problem=PROBLEM,
    problems=[PROBLEM],
    metric="accuracy",
    unit="",
    direction="maximize",
    target=0.5,
    budget=own_budget("permuted_digits", "small"),
    rank_by="metric",
    baseline="none",
    entries=[LAYER_NORM],
)
LEADERBOARDS = LeaderboardList(
    items=[LeaderboardSummary(task="permuted_digits", profile="small", problem=PROBLEM, n_entries=1, n_runs=1)]
)
