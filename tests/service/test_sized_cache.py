"""The cache of objects that are made of a database's rows."""

from service.db import Database
from service.sized_cache import SizedCache, shared_cache


def test_an_object_is_made_once_for_each_version() -> None:
    cache, made = SizedCache[str](10), list[str]()

    def make() -> str:
        made.append(f"made {len(made)}")
        return made[-1]

    assert [cache.get("a", version, make, len) for version in (1, 1, 2, 2)] == ["made 0", "made 0", "made 1", "made 1"]


def test_objects_that_were_not_used_for_the_longest_time_leave_a_full_cache() -> None:
    cache, made = SizedCache[str](6), list[str]()

    def get(asked: str) -> None:
        cache.get(asked, 1, lambda: made.append(asked) or asked, len)  # type: ignore[func-returns-value]

    for asked in ("aa", "bb", "cc", "aa", "ddd"):
        get(asked)
    assert made == ["aa", "bb", "cc", "ddd"]
    for asked in ("aa", "ddd", "bb"):
        get(asked)
    assert made[4:] == ["bb"]


def test_an_object_that_is_larger_than_the_cache_is_returned_and_leaves_it() -> None:
    cache = SizedCache[str](3)
    assert cache.get("a", 1, lambda: "too large", len) == "too large"
    assert cache.get("a", 1, lambda: "new", len) == "new"


def test_snapshots_of_a_database_share_a_cache_and_transactions_do_not(db: Database) -> None:
    with db.snapshot() as one, db.snapshot() as another:
        assert shared_cache(one, "boards", 1) is shared_cache(another, "boards", 1)
    with db.transaction() as session, db.snapshot() as reader:
        assert shared_cache(session, "boards", 1) is not shared_cache(reader, "boards", 1)
