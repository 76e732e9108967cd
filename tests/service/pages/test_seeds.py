"""Entries of too few seeds on every page that ranks: a state of its own, and the way to further seeds."""

import re
from html import unescape

import pytest
import yaml
from starlette.testclient import TestClient

from service.db import Database
from tests.service.leaderboards.boards import result
from tests.service.sweeps.sample_sweeps import run_all, stored

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)

SPEC = {"task": {"name": "permuted_digits", "profile": "smoke"}, "norm": {"method": "none"}}
ADD = re.compile(r'href="(/submit\?from=[^"]+)">add seeds</a>', re.IGNORECASE)


def two_methods(db: Database, seeds: int) -> None:
    spread = [0.01 * k for k in range(seeds)]
    result(db, "layer_norm", [0.8 + more for more in spread], [20] * seeds)
    result(db, "none", [0.79 + more for more in spread], [40] * seeds)


PAGES = ("/", "/boards?profile=smoke", "/boards/permuted_digits?profile=smoke", "/methods")


@pytest.mark.parametrize("path", PAGES)
def test_one_seed_has_no_rank_but_a_link_to_more(client: TestClient, db: Database, path: str) -> None:
    two_methods(db, 1)
    text = client.get(path).text
    assert text.count("too few seeds</span>") == 2
    assert text.count("<span>1 of 3</span>") == 2
    assert 'class="n first"' not in text
    assert "> tied<" not in text
    assert "no difference is shown." not in text
    assert "ties with it" not in text
    form = client.get(unescape(ADD.findall(text)[0])).text
    (written,) = re.findall(r'<textarea[^>]*name="yaml"[^>]*>(.*?)</textarea>', form, re.DOTALL)
    assert yaml.safe_load(unescape(written))["seeds"] == [1, 2, 3, 4]


@pytest.mark.parametrize("path", PAGES)
def test_five_seeds_are_ranked_and_tie(client: TestClient, db: Database, path: str) -> None:
    two_methods(db, 5)
    text = client.get(path).text
    assert "too few seeds</span>" not in text
    assert ADD.findall(text) == []
    on_board = path.startswith("/boards/")
    assert (' tie first">' if on_board else 'class="n first">1<') in text


def test_one_seed_gives_no_verdict_over_all_tasks(client: TestClient, db: Database) -> None:
    two_methods(db, 1)
    assert "Too few seeds to say who wins overall:" in client.get("/boards?profile=smoke").text
    two_methods(db, 5)
    assert "Too few tasks to say who wins overall;" in client.get("/boards?profile=smoke").text


@pytest.mark.parametrize(("seeds", "ranked"), [([0], False), ([0, 1, 2, 3, 4], True)])
def test_a_methods_page_has_its_rank_from_three_seeds_on(
    client: TestClient, db: Database, seeds: list[int], ranked: bool
) -> None:
    two_methods(db, len(seeds))
    text = client.get("/methods/layer_norm").text
    assert ("<strong>1</strong> of 2" in text) == ranked
    assert ("Too few seeds to rank it on any board:" in text) != ranked


@pytest.mark.parametrize(
    ("seeds", "called", "verdict"),
    [
        (
            [0],
            "best, too few seeds",
            "Too few seeds to say which cell is best:</strong> lr 0.01 has the best validation",
        ),
        ([0, 1, 2, 3, 4], "best", "lr 0.01 is first, and nothing ties with it:</strong> 54.00% test accuracy"),
    ],
)
def test_a_sweeps_best_cell_needs_seeds(
    client: TestClient, db: Database, seeds: list[int], called: str, verdict: str
) -> None:
    sweep = stored(db, {"spec": {**SPEC, "seeds": seeds}, "grid": {"training.optimizer.lr": [0.001, 0.01]}})
    run_all(
        db, lambda spec, seed: 0.5 + 0.02 * seed if spec["training"]["optimizer"]["lr"] == 0.01 else 0.2 - 0.01 * seed
    )
    text = client.get(f"/sweeps/{sweep}").text
    assert f">{called}</span>" in text
    assert verdict in text.replace("\u00a0", " ")
    assert ("Add seeds to the best" in text) == (len(seeds) == 1)


def test_an_experiment_of_one_seed_says_that_it_has_no_interval(client: TestClient, db: Database) -> None:
    two_methods(db, 1)
    (first, *_) = re.findall(r'href="(/experiments/exp_\w+)"', client.get("/experiments").text)
    assert "mean of 1 seed; one seed has no interval." in client.get(first).text
