"""Leaderboard as a table."""

from collections.abc import Mapping, Sequence
from typing import Any

from normbench.display.numbers import (
    BOUNDS,
    SHORTEST_FINGERPRINT,
    decimal,
    describe_gaps,
    explain_ranks,
    interval,
    rank,
    short_fingerprints,
)
from normbench.display.table import Column, Table
from normbench.shown_answers import Leaderboard


def leaderboard(board: Leaderboard) -> Table:
    """Table of a leaderboard: its entries with their intervals and times to the target."""
    unit = f", {board['unit']}" if board["unit"] else ""
    elsewhere = any(_source(entry) for entry in board["entries"])
    kernels = {entry["kernel"] for entry in board["entries"]} - {None}
    marked = len(kernels) > 1 or "mixed" in kernels  # so that nobody compares times of two kernels
    short = short_fingerprints(entry["fingerprint"] for entry in board["entries"] if entry["fingerprint"])
    columns = [
        Column("#"),
        Column("entry", words=True),
        *([Column("source", words=True)] if elsewhere else []),
        Column(f"test {board['metric']}{unit} [95%]"),
        Column("seeds", optional=2),
        Column("steps", optional=3),
        Column("time", optional=4),
        *([Column("kernel", optional=4)] if marked else []),
        Column(f"vs {board['baseline']}", optional=1),
        Column("fingerprint", optional=5),
    ]
    rows = [
        (
            _rank(entry),
            entry["name"],
            *([_source(entry)] if elsewhere else []),
            _value(entry, board["metric"]),
            _seeds(entry),
            _time(entry, "steps_to_target", "{:.4g}"),
            _seconds(entry),
            *([entry["kernel"]] if marked else []),
            _speedup(entry["speedup"], board["rank_by"]),
            short.get(entry["fingerprint"] or ""),
        )
        for entry in board["entries"]
    ]
    return Table(_title(board), columns, rows, _note(board))


def _title(board: Leaderboard) -> str:
    better = "higher is better" if board["direction"] == "maximize" else "lower is better"
    target = f"; steps and time to {board['target']:g} on validation data" if board["target"] is not None else ""
    own = board["problem"]["id"] == board["problems"][0]["id"]
    problem = "" if own else f", {board['problem']['title']}"
    return f"{board['task']} ({board['profile']}{problem}): {better}{target}"


def _note(board: Leaderboard) -> str | None:
    """Note on a board: its problem, the verdict, and how to read the ranks."""
    entries: Sequence[Mapping[str, Any]] = board["entries"]
    found = board.get("verdict")
    verdict = f"{found['claim']} {found['detail']}" if found else None
    of_problem = board["problem"]["note"]
    of_interval = explain_ranks(entry["rank_ci"] for entry in entries if _rank(entry))
    of_ranks = of_interval and f"# {of_interval} (95%, all rows together)."
    conflicts = [
        f"Seeds {', '.join(map(str, entry['conflicting_seeds']))} of {entry['name']} ({entry['fingerprint'][:8]})"
        " gave different numbers on one machine."
        for entry in entries
        if entry["conflicting_seeds"]
    ]
    gaps = describe_gaps(entries)
    capped = [
        f"{entry['name']} ({entry['fingerprint'][:8]}) is ranked by {decimal(entry['score'])}, as no seed counts as"
        " worse than no skill."
        for entry in entries
        if entry["value"] and not entry["n_diverged"] and entry.get("score") not in (None, entry["value"]["mean"])
    ]
    aside = [_describe_set_aside(board), _older_code(board)]
    notes = [of_problem, verdict, of_ranks, *capped, *gaps, *conflicts, *aside, _contended_note(board)]
    return "\n".join(filter(None, notes)) or None


def _describe_set_aside(board: Leaderboard) -> str | None:
    """Sentence on the entries of an older task, model, optimizer or method: their number, and how to see them."""
    found = board.get("set_aside")
    if not found:
        return None
    shown = any(entry.get("of_older_code") for entry in board["entries"])
    return f"{found['detail']}" if shown else f"{found['detail']} --code all shows them."


def _older_code(board: Leaderboard) -> str | None:
    """Sentence on the runs of older code that the entries set aside: their number, and how to see them."""
    aside = sum(entry.get("n_older", 0) for entry in board["entries"] if not entry.get("of_older_code"))
    if not aside or any(entry.get("of_older_code") for entry in board["entries"]):
        return None
    runs = "1 run of older code is" if aside == 1 else f"{aside} runs of older code are"
    return f"{runs} set aside; --code all shows them."


def _contended_note(board: Leaderboard) -> str | None:
    """Sentence on the entries that lack seconds because something else ran on their machine."""
    some = sum(entry["contended"] > 0 for entry in board["entries"])
    if not some:
        return None
    entries = "1 entry" if some == 1 else f"{some} entries"
    unranked = " Without other runs an entry has no rank here." if board["rank_by"] == "seconds_to_target" else ""
    again = "To get the times, submit the same specs again while nothing else runs. --json names the entries."
    return f"* Times of runs of {entries} are left out: the machine was busy. {again}{unranked}"


def _rank(entry: Mapping[str, Any]) -> str | None:
    """Rank of an entry; None if it has no rank."""
    if entry["rank"] is None or entry["too_few_seeds"]:
        return None
    return rank(entry["rank"], entry["rank_ci"] or (entry["rank"], entry["rank"]))


def _source(entry: Mapping[str, Any]) -> str | None:
    """Remark on an entry that is measured elsewhere or over the budget; None for an entry that the board ranks."""
    if entry["source"] == "submitted":
        source: str = entry["provenance"]["source"]
        return source
    if entry["citation"]:
        return f"published, quoted from {entry['origin']}" if entry["origin"] else "published"
    if entry.get("of_older_code"):
        parts = ["method" if part == "norm" else part for part in entry.get("older_parts", ())]
        older = f"of older code {(entry.get('code') or '')[:SHORTEST_FINGERPRINT]}".rstrip()
        return f"{older}: {', '.join(parts)}" if parts else older
    return "over budget" if entry["over_budget"] else None


def _value(entry: Mapping[str, Any], metric: str) -> str | None:
    """Test value of an entry, or the validation value of a paper that has no test value."""
    if entry["split"] == "valid" and metric in entry["values"]:
        return f"{interval(entry['values'][metric])} in validation"
    return interval(entry["value"])


def _seeds(entry: Mapping[str, Any]) -> str | None:
    if entry["source"] == "published":
        return None
    return f"{entry['n_seeds']}" + (f" ({entry['n_diverged']} diverged)" if entry["n_diverged"] else "")


def _time(entry: Mapping[str, Any], by: str, form: str) -> str | None:
    """Median time to the target, and the number of seeds that reached it if not all did."""
    time = entry[by]
    if not time:
        return None
    median = "–" if time["median"] is None else form.format(time["median"])
    missed = time["reached"] < entry["n_seeds"] and time["tau"] is not None
    return f"{median} ({time['reached']} of {entry['n_seeds']})" if missed else median


def _seconds(entry: Mapping[str, Any]) -> str | None:
    """Seconds to the target of the runs that were alone on their machine; marked if other runs were not alone."""
    if not entry["contended"]:
        return _time(entry, "seconds_to_target", "{:.1f} s")
    alone = entry["n_seeds"] - entry["contended"]
    return f"{_time({**entry, 'n_seeds': alone}, 'seconds_to_target', '{:.1f} s')}*" if alone else "–*"


def _speedup(speedup: Mapping[str, Any] | None, rank_by: str) -> str | None:
    """Speed-up in seconds on a board ranked by seconds, else in updates."""
    ratio = speedup and speedup["seconds" if rank_by == "seconds_to_target" else "steps"]
    if not speedup or not ratio:
        return None
    ci95, bound = speedup["ci95"], BOUNDS[speedup["bound"]]
    return f"{bound}{ratio:.1f}x" + (f" [{ci95[0]:.1f}, {ci95[1]:.1f}]" if ci95 else "")
