"""How limits count the addresses of the network."""

from __future__ import annotations

from fairline.domain.address import counted_address


def test_limits_count_a_network_of_ipv6_and_an_address_of_ipv4() -> None:
    for address, prefix, counted in [
        ("192.0.2.7", 64, "192.0.2.7"),
        ("::ffff:192.0.2.7", 64, "192.0.2.7"),
        ("::ffff:c000:207", 128, "192.0.2.7"),
        ("64:ff9b::c000:207", 64, "192.0.2.7"),
        ("2001:db8:1:2::1", 64, "2001:db8:1:2::/64"),
        ("2001:DB8:1:2:ffff:ffff:ffff:ffff", 64, "2001:db8:1:2::/64"),
        ("2001:db8:1:3::1", 64, "2001:db8:1:3::/64"),
        ("2001:db8:1:2::1", 48, "2001:db8:1::/48"),
        ("2001:db8:1:2::1", 33, "2001:db8::/33"),
        ("2001:0db8:1:2::0001", 128, "2001:db8:1:2::1/128"),
        ("::1", 64, "::/64"),
        ("fe80::1%eth0", 64, "fe80::/64"),
        ("not:an:address", 64, "not:an:address"),
        ("", 64, ""),
        (None, 64, ""),
    ]:
        assert counted_address(address, prefix) == counted, (address, prefix)
