"""Connections of the client, apart from what ``test_client`` sees of them."""

import ssl

from normbench import connection


def test_connections_share_certificates_and_refuse_servers_without_a_valid_one() -> None:
    context = connection._certificates()
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert connection._certificates() is context
