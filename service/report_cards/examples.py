"""Example of a report card for the API's description: it has one analysis and lacks another."""

from normcore.events import Finding
from service.experiments.examples import FINGERPRINT, RUN
from service.leaderboards.examples import PROBLEM
from service.report_cards.schemas import CellOut, MeasuredOut, ReportCard, StandingOut

STEP_COST = MeasuredOut(
    run_id="run_01KAJ4C5S2M8V0T3H6R1Y9W7QA",
    experiment_id="exp_01KAJ4C5S2M8V0T3H6R1Y9W7Q9",
    device="cpu",
    finished_at=RUN.finished_at,
    findings=[Finding("ratio", 1.46, "median of interleaved pairs, one training step with over one without", "1.46x")],
)
REPORT_CARD = ReportCard(
    method="layer_norm",
    title="Layer normalization",
    citation="Ba, Kiros, Hinton 2016, arXiv:1607.06450, Eq. 4, 20-22, 26-28",
    invariances=None,
    cells={"lstm": CellOut(gradient_flow=None, step_cost=STEP_COST, smallest_batch=None)},
    standings=[
        StandingOut(
            task="permuted_digits",
            profile="small",
            problem=PROBLEM,
            rank=1,
            shared_rank=1,
            tied_with=[],
            rank_ci=(1, 1),
            of=1,
            metric="accuracy",
            unit="",
            direction="maximize",
            mean=0.677,
            ci95=None,
            n_seeds=1,
            n_diverged=0,
            too_few_seeds=False,
            fingerprint=FINGERPRINT,
            name="layer_norm",
        )
    ],
    not_applicable={},
    missing=[{"task": {"name": "invariances"}, "norm": {"method": "layer_norm"}}],
    pending=[],
)
