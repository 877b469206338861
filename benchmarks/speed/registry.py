"""Everyone by name, in the order of the columns."""

from __future__ import annotations

from benchmarks.speed.contenders import Contender, Fenchel, FenchelIntercept, FenchelProved
from benchmarks.speed.extras import EXTRAS
from benchmarks.speed.peers import PEERS

CONTENDERS: dict[str, type[Contender]] = {
    contender.name: contender for contender in (Fenchel, FenchelIntercept, FenchelProved, *PEERS, *EXTRAS)
}
