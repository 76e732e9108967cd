"""The pages to publish, with their addresses on the service and their files in the folder."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from normbench.answers import LeaderboardSummary
from normbench.client import Client
from normbench.display.report_card import OWN_PROBLEM

Section = Literal["overall", "boards", "comparisons", "reproductions"]
MOST_COMPARED = 8  # entries on a page of comparisons
SHORT = 12  # characters of a fingerprint in an address
USUAL_PROFILE = "small"
DEFAULTS = {
    "profile": USUAL_PROFILE,
    "rank_by": "metric",
    "baseline": "none",
    "published": "apart",
    "entries": "best",
    "by": "steps",
    "page": "1",
}
"""Values that an address of a page need not name."""
UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")

Key = tuple[str, tuple[tuple[str, str], ...]]


@dataclass(frozen=True)
class PublishedPage:
    """Page to publish.

    Attributes:
        section: the part of the index that lists the page.
        title: text of the link on the index.
        address: path and query on the service.
        file: path in the folder, without its suffix.
        data: path and query of the same numbers as JSON.
        same: further addresses that lead to the page.
    """

    section: Section
    title: str
    address: str
    file: str
    data: str
    same: tuple[str, ...] = ()

    @property
    def html(self) -> str:
        return f"{self.file}.html"


def sitemap(client: Client) -> list[PublishedPage]:
    """List the pages to publish: the index first, then boards, their comparisons, and methods with findings."""
    boards = [board for board in client.leaderboards() if board["n_entries"] or board["n_claims"]]
    return [*_overall(boards), *map(_board, boards), *_comparisons(client, boards), *_methods(client)]


def _overall(boards: Sequence[LeaderboardSummary]) -> Iterator[PublishedPage]:
    """Pages of all boards together. The index is that of the profile with most entries."""
    entries = Counter[str]()
    for board in boards:
        entries[board["profile"]] += board["n_entries"]
    profiles = [profile for profile, _ in entries.most_common()] or [USUAL_PROFILE]
    for k, profile in enumerate(profiles):
        yield PublishedPage(
            section="overall",
            title=f"All boards, {profile}",
            address=f"/boards?profile={profile}",
            file="index" if k == 0 else f"overall-{profile}",
            data=f"/v1/leaderboards/overall?profile={profile}",
            same=("/", "/boards") if k == 0 else (),
        )


def _board(board: LeaderboardSummary) -> PublishedPage:
    task, profile, problem = board["task"], board["profile"], board["problem"]
    own = problem["title"] == OWN_PROBLEM
    path, usual = f"/boards/{quote(task)}", urlencode({"profile": profile})
    exact = urlencode({"profile": profile, "problem": problem["id"]})
    return PublishedPage(
        section="boards",
        title=_board_title(board),
        address=f"{path}?{usual if own else exact}",
        file=f"boards/{_safe(task)}-{profile}" + ("" if own else f"-{_safe(problem['id'])}"),
        data=f"/v1/leaderboards/{quote(task)}?{exact}",
        same=(f"{path}?{exact}",),
    )


def _board_title(board: LeaderboardSummary) -> str:
    problem = board["problem"]["title"]
    return f"{board['task']}, {board['profile']}" + ("" if problem == OWN_PROBLEM else f", {problem}")


def _comparisons(client: Client, boards: Sequence[LeaderboardSummary]) -> Iterator[PublishedPage]:
    """Comparison of the best entries of each board, one of each method."""
    for board in boards:
        found = client.leaderboard(
            board["task"], profile=board["profile"], problem=board["problem"]["id"], entries="best"
        )
        prints = [
            fingerprint[:SHORT]
            for entry in found["entries"]
            if entry["source"] == "measured"
            and not entry.get("of_older_code")
            and (fingerprint := entry["fingerprint"])
        ][:MOST_COMPARED]
        if len(prints) < 2:
            continue
        query = urlencode({"fingerprint": prints}, doseq=True)
        yield PublishedPage(
            section="comparisons",
            title=_board_title(board),
            address=f"/compare?{query}",
            file=_board(board).file.replace("boards/", "comparisons/", 1),
            data=f"/v1/comparisons?{query}",
        )


def _methods(client: Client) -> Iterator[PublishedPage]:
    """Methods with findings: their pages show what papers claim beside what was found here."""
    for method in client.catalogue("methods"):
        name = method["name"]
        card = client.report_card(name)
        if card["standings"] or card["invariances"] or any(any(cell.values()) for cell in card["cells"].values()):
            yield PublishedPage(
                section="reproductions",
                title=method["title"],
                address=f"/methods/{quote(name)}",
                file=f"methods/{_safe(name)}",
                data=f"/v1/methods/{quote(name)}/report-card",
            )


def links(pages: Sequence[PublishedPage]) -> Mapping[Key, str]:
    """Files of the pages by the keys of their addresses."""
    return {key_of(address): page.html for page in pages for address in (page.address, *page.same)}


def key_of(address: str) -> Key:
    """Key of an address: its path, and its query in order and without values that need not be named."""
    parts = urlsplit(address)
    given = parse_qsl(parts.query, keep_blank_values=True)
    kept = sorted((name, value) for name, value in given if DEFAULTS.get(name) != value)
    return unquote(parts.path), tuple(kept)


def _safe(name: str) -> str:
    return UNSAFE.sub("-", name)
