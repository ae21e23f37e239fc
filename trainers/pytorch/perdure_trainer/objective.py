"""Losses of sampled tokens, and what is reported of them (learning/loss/objective.ts, learning/loss/ratio-statistics.ts).

Written out here a second time on purpose: each implementation is what the other is checked against.

Invariants
- Gradients come from automatic differentiation of the losses as they are written.
- A ratio beyond e^±20 acts as e^±20, so that no gradient overflows.
"""

import math
import statistics
from dataclasses import dataclass, fields, replace

import torch

from .faults import TrainerFault

_LIMIT = 20.0
_KNEE = math.log(2)
_EDGES = tuple(math.log(edge) for edge in (0.1, 0.5, 0.8, 0.95, 1.05, 1.25, 2, 10))


@dataclass(frozen=True)
class Objective:
    """Settings of the objective; names as in the contract."""

    kind: str
    losses: tuple[str, ...]
    clip_low: float
    clip_high: float
    dual_clip: float
    kl_coefficient: float
    entropy_coefficient: float
    temperature: float
    importance_limit: float | None = None
    # Lowest and highest entropy of the tokens of epo, and what a nat outside of them counts.
    entropy_band: tuple[float, float, float] | None = None

    @staticmethod
    def of(settings: dict) -> "Objective":
        losses = tuple(settings.get("losses") or (settings.get("loss") or "clipped",))
        unknown = [loss for loss in losses if not isinstance(loss, str) or loss not in LOSSES]
        if unknown:
            raise TrainerFault("backend", f"there is no loss {unknown[0]}: use {', '.join(LOSSES)}")
        band = settings.get("entropyBand")
        return Objective(
            kind=settings["kind"],
            losses=losses,
            clip_low=settings["clipLow"],
            clip_high=settings["clipHigh"],
            dual_clip=settings["dualClip"],
            kl_coefficient=settings["klCoefficient"],
            entropy_coefficient=settings["entropyCoefficient"],
            temperature=settings["temperature"],
            entropy_band=band and (band["low"], band["high"], band["pull"]),
            importance_limit=(settings.get("decoupled") or {}).get("importanceLimit"),
        )


@dataclass(frozen=True)
class Tokens:
    """The results for the learnt tokens of a micro-batch, [rows] each."""

    logprobs: torch.Tensor
    entropies: torch.Tensor
    behaviour: torch.Tensor
    advantages: torch.Tensor
    sequences: torch.Tensor
    losses: torch.Tensor
    reference: torch.Tensor | None

    def at(self, chosen: torch.Tensor) -> "Tokens":
        """Those rows alone that a mask chooses."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return Tokens(**{name: value if value is None else value[chosen] for name, value in values.items()})


def bounded_k3(log_ratio: torch.Tensor) -> torch.Tensor:
    """exp(x) - x - 1, continued as its tangent beyond a ratio of 2."""
    inner = log_ratio.clamp(max=_KNEE)
    return torch.expm1(inner) - inner + (log_ratio - inner)


def token_losses(tokens: Tokens, objective: Objective) -> tuple[torch.Tensor, torch.Tensor]:
    """Loss of each token, and whether a clip made its policy part constant, [rows] each."""
    if objective.kind == "supervised":
        return -tokens.logprobs, torch.zeros_like(tokens.logprobs, dtype=torch.bool)
    loss, clipped = _policy_losses(tokens, objective)
    if tokens.reference is not None and objective.kl_coefficient > 0:
        loss = loss + objective.kl_coefficient * bounded_k3(tokens.reference - tokens.logprobs)
    return loss - objective.entropy_coefficient * _smoothed_entropies(tokens, objective), clipped


def _smoothed_entropies(tokens: Tokens, objective: Objective) -> torch.Tensor:
    """The entropies, those of epo less their weighed distance from the bounds (arXiv 2509.22576)."""
    if objective.entropy_band is None:
        return tokens.entropies
    low, high, pull = objective.entropy_band
    outside = (low - tokens.entropies).relu() + (tokens.entropies - high).relu()
    smoothed = tokens.entropies.new_tensor([float(loss == "epo") for loss in objective.losses])[tokens.losses]
    return tokens.entropies - pull * smoothed * outside


def _policy_losses(tokens: Tokens, objective: Objective) -> tuple[torch.Tensor, torch.Tensor]:
    """Every loss of all tokens, and of them the one that is the token's."""
    found = [LOSSES[loss](tokens, objective) for loss in objective.losses]
    chosen = tokens.losses[None]
    losses, clipped = (torch.stack(each).gather(0, chosen)[0] for each in zip(*found, strict=True))
    return losses, clipped


def _clip(ratio: torch.Tensor, objective: Objective) -> torch.Tensor:
    return ratio.clamp(1 - objective.clip_low, 1 + objective.clip_high)


def _ratio(log_ratio: torch.Tensor) -> torch.Tensor:
    return log_ratio.clamp(-_LIMIT, _LIMIT).exp()


def _clipped(tokens: Tokens, objective: Objective) -> tuple[torch.Tensor, torch.Tensor]:
    """PPO (arXiv 1707.06347) with the dual clip (arXiv 1912.09729)."""
    ratio = _ratio(tokens.logprobs - tokens.behaviour)
    free = -tokens.advantages * ratio
    bounded = -tokens.advantages * _clip(ratio, objective)
    # Where both are equal all of the gradient goes one way, which is the same either way inside the clips.
    loss = torch.where(free >= bounded, free, bounded)
    most = -objective.dual_clip * tokens.advantages
    is_most = (tokens.advantages < 0) & (most < loss)
    constant = (free < bounded) | is_most
    return torch.where(is_most, most, loss), constant & (tokens.advantages != 0)


def _cispo(tokens: Tokens, objective: Objective) -> tuple[torch.Tensor, torch.Tensor]:
    """The clipped ratio is a constant weight on the logprob (arXiv 2506.13585)."""
    ratio = _ratio((tokens.logprobs - tokens.behaviour).detach())
    weight = _clip(ratio, objective)
    return -weight * tokens.advantages * tokens.logprobs, weight != ratio


def _gspo(tokens: Tokens, objective: Objective) -> tuple[torch.Tensor, torch.Tensor]:
    """GSPO-token: one ratio for an episode, the geometric mean of its tokens', beside each token's own advantage (arXiv 2507.18071)."""
    sequences, logprobs = tokens.sequences, tokens.logprobs
    constant = logprobs.detach()
    count = int(sequences.max()) + 1 if len(sequences) > 0 else 0
    zeros = constant.new_zeros(count)
    lengths = zeros.index_add(0, sequences, torch.ones_like(constant))
    sums = zeros.index_add(0, sequences, constant - tokens.behaviour)
    ratio = _ratio(sums / lengths)[sequences] * (logprobs - constant).exp()
    free = -tokens.advantages * ratio
    bounded = -tokens.advantages * _clip(ratio, objective)
    return torch.where(free >= bounded, free, bounded), free < bounded


def _distillation(tokens: Tokens, objective: Objective) -> tuple[torch.Tensor, torch.Tensor]:
    """The clipped loss, with how much likelier the reference finds a token as its advantage (arXiv 2306.13649)."""
    return _clipped(replace(tokens, advantages=(tokens.reference - tokens.logprobs).detach()), objective)


# Those of dgg, epo and turn_ppo are the clipped ones; `surges` ends updates of dgg, the entropy bonus of epo is one of its own, and batches of
# turn_ppo have targets of values.
LOSSES = {
    "clipped": _clipped,
    "cispo": _cispo,
    "gspo": _gspo,
    "dgg": _clipped,
    "epo": _clipped,
    "distillation": _distillation,
    "turn_ppo": _clipped,
}


def surges(number: int, norm: float, earlier: list[float]) -> bool:
    """Whether a pass after the first finds the squared norm more than a deviation above the mean of two or more before it (arXiv 2605.19425)."""
    if number == 0 or len(earlier) < 2:
        return False
    energies = [each**2 for each in earlier]
    return norm**2 > statistics.fmean(energies) + statistics.pstdev(energies)


def ratio_sums(log_ratios: torch.Tensor) -> dict:
    """Sums of importance ratios, in the form of the contract. Log ratios are float64 [n]."""
    limited = log_ratios.clamp(-_LIMIT, _LIMIT)
    ratios = limited.exp()
    edges = torch.tensor(_EDGES, dtype=torch.float64)
    bins = (limited[:, None] >= edges).sum(1)
    return {
        "tokens": len(limited),
        "divergence": float(bounded_k3(limited).sum()),
        "ratios": float(ratios.sum()),
        "squares": float((ratios * ratios).sum()),
        "histogram": torch.bincount(bins, minlength=len(_EDGES) + 1).tolist(),
    }
