"""Keys are made, listed and revoked without a service."""

from tests.normbench.cli.commands import from_json, normbench


def test_keys_are_made_listed_and_revoked_without_a_service(nobody: None) -> None:
    assert from_json("keys", "list") == []
    made = from_json("keys", "create", "ada")
    assert made["name"] == "ada"
    assert made["key"].startswith("nb_")
    (listed,) = from_json("keys", "list")
    assert (listed["id"], listed["name"], listed["revoked_at"]) == (made["id"], "ada", None)
    assert made["key"] not in normbench("keys", "list")
    assert from_json("keys", "revoke", made["id"]) == {"id": made["id"], "revoked": True}
    assert from_json("keys", "list")[0]["revoked_at"] is not None
    assert "key_nope" in normbench("keys", "revoke", "key_nope", status=2)


def test_a_keys_name_fits_its_column_on_every_database(nobody: None) -> None:
    for name in ("a" * 101, "", "a\nb"):
        assert "100" in normbench("keys", "create", name, status=2)
    assert from_json("keys", "create", "a" * 100)["name"] == "a" * 100
