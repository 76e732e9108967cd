"""Examples for the API's description: a board with an entry of one seed, and a board with two numbers of a paper."""

from normcore.problem import own_budget, own_problem
from service.experiments.examples import EXPERIMENT_ID, FINGERPRINT
from service.leaderboards.entry import Estimate
from service.leaderboards.overall import CAUTION
from service.leaderboards.schemas import (
    Entry,
    Leaderboard,
    LeaderboardList,
    LeaderboardSummary,
    LeftOut,
    MethodProfile,
    Overall,
    Problem,
    RankedTask,
    Speedup,
    TimeToTarget,
    Verdict,
)
from service.leaderboards.verdicts import verdict
from service.statistics.profiles import WIDEST

LAYER_NORM = Entry(
    rank=1,
    rank_ci=(1, 1),
    tie_group=1,
    method="layer_norm",
    source="measured",
    fingerprint=FINGERPRINT,
    budget=own_budget("permuted_digits", "small"),
    kernel="fused",
    hardware="AMD EPYC, 1 thread",
    n_runs=1,
    n_seeds=1,
    diverged_ci95=(0.0, 0.975),
    score=0.677,
    value=Estimate(0.677, n=1),
    valid_value=0.713,
    gap=False,
    steps_to_target=TimeToTarget(91.4, 1, None, 91.4, 400.0),
    seconds_to_target=TimeToTarget(5.21, 1, None, 5.21, 5.21),
    values={"accuracy": Estimate(0.677, n=1)},
    speedup=Speedup("none", None, None, None, None),
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
    hardware="AMD EPYC, 1 thread",
    rank_by="metric",
    baseline="none",
    as_of=None,
    entries=[LAYER_NORM],
)
LEADERBOARD.verdict = verdict(LEADERBOARD, {})
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
    hardware=None,
    rank_by="metric",
    baseline="none",
    as_of=None,
    entries=[
        Entry(
            rank=1,
            method=None,
            source="published",
            citation="RBN, Table 2",
            model="HM-LSTM",
            origin="Chung et al. 2016",
            note="An architecture of its own; RBN does not say how it is normalized.",
            score=1.24,
            value=Estimate(1.24),
            values={"bits_per_char": Estimate(1.24)},
        ),
        Entry(
            rank=1,
            method="recurrent_batch_norm",
            source="published",
            citation="RBN, Table 2",
            model="BN-LSTM",
            score=1.32,
            value=Estimate(1.32),
            values={"bits_per_char": Estimate(1.32)},
        ),
    ],
)
PUBLISHED.verdict = Verdict(
    "Only published numbers:",
    "papers have 8 results, the best 1.2200 test bits per char (HyperNetworks, RBN, Table 2); nothing is measured here"
    " yet.",
)
OVERALL = Overall(
    profile="small",
    rank_by="steps_to_target",
    widest=WIDEST,
    tasks=[RankedTask("permuted_digits", 0.5, 91.4, None)],
    left_out=[LeftOut("char_lm", "no entries")],
    methods=[
        MethodProfile(
            rank=1,
            method="layer_norm",
            area=1.0,
            fastest=1,
            times={"permuted_digits": 91.4},
            ratios={"permuted_digits": 1.0},
            profile=[(1.0, 1.0), (WIDEST, 1.0)],
            untried=[],
        )
    ],
    caution=CAUTION,
    flips=[],
)
LEADERBOARDS = LeaderboardList(
    items=[
        LeaderboardSummary(task="permuted_digits", profile="small", problem=PROBLEM, n_entries=1, n_runs=1, n_claims=0)
    ]
)
