"""Networks between client and server by name, and rates that stand for none, as bits a second."""

LAN_BITS_A_SECOND, WAN_BITS_A_SECOND = 1e9, 1e8
NETWORKS = {"lan": LAN_BITS_A_SECOND, "wan": WAN_BITS_A_SECOND}
SENDING_IS_FREE = 1e18  # bits a second, where sending is not to count
ONLY_SENDING_COUNTS = 1e3  # where little else is to
