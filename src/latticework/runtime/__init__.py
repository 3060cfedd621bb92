"""Running plans: client, server, encrypted values, keys. Knows plans, never the compiler."""

from latticework.runtime.checkpoint import Checkpoint
from latticework.runtime.client import Client
from latticework.runtime.encrypted import Encrypted
from latticework.runtime.events import Event
from latticework.runtime.keys import Keys, PublicKeys
from latticework.runtime.owner import OwnerValue
from latticework.runtime.server import Server

__all__ = ["Checkpoint", "Client", "Encrypted", "Event", "Keys", "OwnerValue", "PublicKeys", "Server"]
