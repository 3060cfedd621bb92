"""Networks between client and server by name, as bits a second."""

LAN_BITS_A_SECOND, WAN_BITS_A_SECOND = 1e9, 1e8
NETWORKS = {"lan": LAN_BITS_A_SECOND, "wan": WAN_BITS_A_SECOND}
