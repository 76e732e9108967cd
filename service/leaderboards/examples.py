"""What the description of the API shows: a board with an entry of one seed, and one with two of a paper's numbers."""

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
    kernel="fused",
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
OF_PAPER = own_problem("char_lm", "paper")
PENN_TREEBANK = Problem(OF_PAPER.id, "the profile's own", dict(OF_PAPER.options), note=None)
PUBLISHED = Leaderboard(
    task="char_lm",
    profile="paper",
    problem=PENN_TREEBANK,
    problems=[PENN_TREEBANK],
    metric="bits_per_char",
    unit="bits",
    direction="minimize",
    target=1.5,
    budget=own_budget("char_lm", "paper"),
    rank_by="metric",
    baseline="none",
    entries=[
        Entry(
            rank=1,
            method=None,
            source="published",
            citation="RBN, Table 2",
            model="HM-LSTM",
            origin="Chung et al. 2016",
            note="An architecture of its own; RBN does not say how it is normalized.",
            value=Center(1.24, None, None),
            values={"bits_per_char": Center(1.24, None, None)},
        ),
        Entry(
            rank=1,
            method="recurrent_batch_norm",
            source="published",
            citation="RBN, Table 2",
            model="BN-LSTM",
            value=Center(1.32, None, None),
            values={"bits_per_char": Center(1.32, None, None)},
        ),
    ],
)
LEADERBOARDS = LeaderboardList(
    items=[LeaderboardSummary(task="permuted_digits", profile="small", problem=PROBLEM, n_entries=1, n_runs=1)]
)
