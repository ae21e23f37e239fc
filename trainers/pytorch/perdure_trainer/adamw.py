"""AdamW (arXiv 1711.05101) over the shard of each weight that this rank holds.

Invariants
- Weight decay acts on matrices only, never on norms and biases.
- Weights and moments are float32, whatever the graph computes in.
- A step with a gradient that is not finite, or larger than is allowed, changes nothing.
"""

import math
from dataclasses import dataclass

import torch

from .faults import TrainerFault


@dataclass
class Moments:
    """Running moments by weight, and the steps behind them."""

    first: dict[str, torch.Tensor]
    second: dict[str, torch.Tensor]
    step: int


def gradient_norm(gradients: list[torch.Tensor], summed) -> float:
    """The Euclidean norm over all weights together. `summed` adds a float64 over all ranks."""
    squares = [gradient.double().square().sum() for gradient in gradients]
    return math.sqrt(summed(float(torch.stack(squares).sum().cpu())))


def check_norm(norm: float, limit: float | None) -> None:
    """Refuses a gradient that must not change weights."""
    if not math.isfinite(norm):
        raise TrainerFault("not_finite", f"the gradient's norm is {norm}: lower the learning rate, or look at the batch")
    if limit is not None and norm > limit:
        raise TrainerFault("exploded", f"the gradient's norm is {norm}, and {limit} is allowed: lower the learning rate, or look at the batch")


@torch.no_grad()
def adamw_step(weights: dict[str, tuple[torch.Tensor, torch.Tensor, bool]], moments: Moments, settings: dict, norm: float) -> None:
    """One step. `weights`: by name its shard, the shard of its gradient, and whether it is a matrix."""
    beta1, beta2, rate = settings["beta1"], settings["beta2"], settings["learningRate"]
    clip = settings["gradientClip"]
    scale = clip / norm if norm > clip else 1.0
    moments.step += 1
    step_size = rate / (1 - beta1**moments.step)
    correction = math.sqrt(1 - beta2**moments.step)
    for name, (weight, gradient, is_matrix) in weights.items():
        if weight.numel() == 0:
            continue
        gradient = gradient * scale
        first = moments.first[name].mul_(beta1).add_(gradient, alpha=1 - beta1)
        second = moments.second[name].mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        if is_matrix and settings["weightDecay"] > 0:
            weight.mul_(1 - rate * settings["weightDecay"])
        weight.addcdiv_(first, second.sqrt().div_(correction).add_(settings["epsilon"]), value=-step_size)
