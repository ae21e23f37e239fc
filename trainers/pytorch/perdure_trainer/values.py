"""A value head: V(h) = w·h/√d + b, linear in the hidden state h before a turn (learning/loss/value-head.ts).

Invariants
- Every rank has the same head: all hidden states are gathered, and the numbers are float64 on the CPU.
- Before it was fitted, a head values everything as 0.
"""

import torch

# λ: staying as it was counts as this many turns.
_STAY = 10.0


def values_by(head: list[float] | None, hidden: torch.Tensor) -> torch.Tensor:
    """The value of each turn, float64 [turns]; hidden [turns, width]."""
    features = _features(hidden)
    return features.new_zeros(len(features)) if head is None else features @ features.new_tensor(head)


def fitted(head: list[float] | None, hidden: torch.Tensor, targets: torch.Tensor) -> list[float]:
    """The minimum of Σ (V - target)² / 2 + λ ‖head - before‖² / 2."""
    features = _features(hidden)
    before = features.new_zeros(features.shape[1]) if head is None else features.new_tensor(head)
    missed = targets.double() - features @ before
    if features.shape[0] < features.shape[1]:
        change = features.T @ _solved(features @ features.T, missed)
    else:
        change = _solved(features.T @ features, features.T @ missed)
    return (before + change).tolist()


def _solved(gram: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    lower = torch.linalg.cholesky(gram + _STAY * torch.eye(len(gram), dtype=gram.dtype))
    return torch.cholesky_solve(right[:, None], lower)[:, 0]


def _features(hidden: torch.Tensor) -> torch.Tensor:
    wide = hidden.double() / hidden.shape[1] ** 0.5
    return torch.cat((wide, wide.new_ones(len(wide), 1)), 1)
