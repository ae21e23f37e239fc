"""Low-rank adapters (LoRA, arXiv 2106.09685) over a base that does not change.

Invariants
- A linear map W with an adapter computes W x + alpha / rank · B (A x).
- A policy with adapters trains nothing but the adapters.
- In files the weights of an adapter have PEFT's names.
"""

import json
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional

from .faults import TrainerFault

_TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


@dataclass(frozen=True)
class AdapterShape:
    """The content of `adapter_config.json`."""

    rank: int
    alpha: float
    targets: tuple[str, ...]

    @staticmethod
    def of(text: bytes, path: str) -> "AdapterShape":
        try:
            config = json.loads(text)
            shape = AdapterShape(int(config["r"]), float(config["lora_alpha"]), tuple(config["target_modules"]))
            if config["peft_type"] != "LORA" or shape.rank < 1 or not set(shape.targets) <= set(_TARGETS):
                raise ValueError(f"expected LoRA over {', '.join(_TARGETS)}")
        except (KeyError, TypeError, ValueError) as error:
            raise TrainerFault("bad_checkpoint", f"{path}: no adapter that can be trained: {error}") from error
        return shape


class AdaptedLinear(nn.Linear):
    """A linear map whose own weights are frozen, with an adapter."""

    def __init__(self, inner: int, outer: int, bias: bool, shape: AdapterShape) -> None:
        super().__init__(inner, outer, bias=bias)
        self.scale = shape.alpha / shape.rank
        self.lora_A = nn.Parameter(torch.empty(shape.rank, inner))
        self.lora_B = nn.Parameter(torch.empty(outer, shape.rank))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        low = functional.linear(functional.linear(x, self.lora_A), self.lora_B)
        return super().forward(x) + self.scale * low


def adapt(model: nn.Module, shape: AdapterShape) -> None:
    """Gives every target its adapter and freezes the rest; nothing is initialized."""
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if name in shape.targets and isinstance(child, nn.Linear):
                adapted = AdaptedLinear(child.in_features, child.out_features, child.bias is not None, shape)
                adapted.weight.requires_grad_(False)
                if adapted.bias is not None:
                    adapted.bias.requires_grad_(False)
                setattr(module, name, adapted)


def is_of_adapter(name: str) -> bool:
    return name.endswith((".lora_A", ".lora_B"))


def name_in_file(name: str) -> str:
    return f"base_model.model.{name}.weight" if is_of_adapter(name) else name
