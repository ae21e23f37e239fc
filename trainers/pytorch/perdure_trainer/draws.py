"""Seeds and drawn orders as Perdure makes them (identity/identity.ts, learning/rollout/shuffled.ts).

Invariants
- The same seed gives the same order as there, so that both trainers divide a batch alike.
"""

from collections.abc import Iterator

_WORD = 0xFFFFFFFF


def seed_of(seed: int, *parts: object) -> int:
    """A 32-bit seed: FNV-1a over the parts joined by NUL, then the finalizer of MurmurHash3."""
    mixed = 0x811C9DC5 ^ (seed & _WORD)
    for character in "\0".join(str(part) for part in parts):
        mixed = ((mixed ^ ord(character)) * 0x01000193) & _WORD
    mixed = ((mixed ^ (mixed >> 16)) * 0x85EBCA6B) & _WORD
    mixed = ((mixed ^ (mixed >> 13)) * 0xC2B2AE35) & _WORD
    return mixed ^ (mixed >> 16)


def uniforms(seed: int) -> Iterator[float]:
    """Uniforms in [0, 1) with 32 bits each (mulberry32)."""
    state = seed & _WORD
    while True:
        state = (state + 0x6D2B79F5) & _WORD
        mixed = ((state ^ (state >> 15)) * (state | 1)) & _WORD
        mixed ^= (mixed + ((mixed ^ (mixed >> 7)) * (mixed | 61))) & _WORD
        yield (mixed ^ (mixed >> 14)) / 2**32


def shuffled(items: list[int], draws: Iterator[float]) -> list[int]:
    """The items in a drawn order (Fisher and Yates)."""
    order = list(items)
    for last in range(len(order) - 1, 0, -1):
        other = int(next(draws) * (last + 1))
        order[last], order[other] = order[other], order[last]
    return order
