"""Keys are given out once, kept as hashes, and can be ended."""

import pytest
from sqlalchemy import select

from service.db import Database
from service.errors import NotFound
from service.keys import keyring
from service.keys.tables import ApiKey


def created(db: Database, name: str = "ada") -> tuple[str, str]:
    with db.transaction() as session:
        key, secret = keyring.create(session, name)
        return key.id, secret


def is_valid(db: Database, secret: str) -> bool:
    with db.snapshot() as session:
        return keyring.is_valid(session, secret)


def any_valid(db: Database) -> bool:
    with db.snapshot() as session:
        return keyring.any_valid(session)


def test_a_key_is_kept_as_a_hash_only(db: Database) -> None:
    id, secret = created(db)
    with db.snapshot() as session:
        (row,) = session.execute(select(ApiKey.__table__)).all()
    assert (row.id, row.name, row.revoked_at) == (id, "ada", None)
    assert len(row.sha256) == 64
    assert not any(secret.removeprefix("nb_") in str(value) for value in row)


def test_keys_are_long_random_and_valid(db: Database) -> None:
    secrets = [created(db)[1] for _ in range(20)]
    assert len(set(secrets)) == 20
    assert all(secret.startswith("nb_") and len(secret) >= 40 for secret in secrets)
    assert all(is_valid(db, secret) for secret in secrets)


@pytest.mark.parametrize("secret", ["", "nb_", "nb_guess", "x" * 100_000, "Ü"])
def test_a_secret_that_was_never_given_out_is_not_valid(db: Database, secret: str) -> None:
    created(db)
    assert not is_valid(db, secret)


def test_the_stored_hash_is_not_a_valid_key(db: Database) -> None:
    created(db)
    with db.snapshot() as session:
        assert not is_valid(db, session.scalars(select(ApiKey.sha256)).one())


def test_a_revoked_key_is_refused_and_other_keys_are_not(db: Database) -> None:
    assert not any_valid(db)
    (first, first_secret), (second, second_secret) = created(db), created(db, "grace")
    with db.transaction() as session:
        ended = keyring.revoke(session, first).revoked_at
    assert ended is not None
    assert not is_valid(db, first_secret)
    assert is_valid(db, second_secret)
    assert any_valid(db)
    with db.transaction() as session:
        assert keyring.revoke(session, first).revoked_at == ended, "ending it again changes nothing"
        keyring.revoke(session, second)
    assert not any_valid(db)
    with db.snapshot() as session:
        assert [key.id for key in keyring.keys(session)] == [first, second]


def test_an_unknown_key_cannot_be_revoked(db: Database) -> None:
    with db.transaction() as session, pytest.raises(NotFound, match="key_nope"):
        keyring.revoke(session, "key_nope")
