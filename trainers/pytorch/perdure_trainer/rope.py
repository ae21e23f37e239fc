"""Rotary positions, scaled as transformers' rope utilities scale them (policy/transformer/rope.ts).

Invariants
- A type that is not known, or lacks a setting, is refused by key and value.
- Angles are computed in double precision, so that a long context loses none.
"""

import math

import torch

from .faults import TrainerFault

_NEEDED = {
    "default": (),
    "linear": ("factor",),
    "llama3": ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"),
    "yarn": ("factor", "original_max_position_embeddings"),
}


class Rope:
    """How the angles of a model's heads follow from positions."""

    def __init__(self, config: dict, head_dim: int, path: str) -> None:
        self.settings = _settings(config)
        self.kind: str = self.settings.get("rope_type") or self.settings.get("type") or "default"
        if self.kind not in _NEEDED:
            raise TrainerFault("bad_checkpoint", f"{path}: rope_type is {self.kind!r}, supported is {', '.join(_NEEDED)}")
        absent = [key for key in _NEEDED[self.kind] if self.settings.get(key) is None]
        if absent:
            raise TrainerFault("bad_checkpoint", f"{path}: rope_type is {self.kind!r}, but {', '.join(absent)} is not given")
        parameters = config.get("rope_parameters") or {}
        self.theta: float = parameters.get("rope_theta") or config.get("rope_theta") or 10000.0
        self.head_dim = head_dim

    def tables(self, time: int, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
        """Cosines and sines, float32 [time, headDim / 2]."""
        half = self.head_dim // 2
        speeds = self.theta ** (-torch.arange(half, dtype=torch.float64) / half)
        if self.kind != "default":
            kept = self._kept(speeds)
            speeds = (1 - kept) * (speeds / self.settings["factor"]) + kept * speeds
        angles = torch.outer(torch.arange(time, dtype=torch.float64), speeds)
        size = _yarn_size(self.settings) if self.kind == "yarn" else 1.0
        return (size * angles.cos()).float().to(device), (size * angles.sin()).float().to(device)

    def _kept(self, speeds: torch.Tensor) -> torch.Tensor:
        """The share of each pair that is not divided by the factor."""
        if self.kind == "linear":
            return torch.zeros_like(speeds)
        settings, context = self.settings, self.settings["original_max_position_embeddings"]
        if self.kind == "llama3":
            low, high = settings["low_freq_factor"], settings["high_freq_factor"]
            return ((context * speeds / (2 * math.pi) - low) / (high - low)).clamp(0, 1)

        def pair_of(turns: float) -> float:
            return self.head_dim * math.log(context / (turns * 2 * math.pi)) / (2 * math.log(self.theta))

        low, high = pair_of(settings.get("beta_fast") or 32), pair_of(settings.get("beta_slow") or 1)
        if settings.get("truncate", True):
            low, high = math.floor(low), math.ceil(high)
        low, high = max(0, low), min(self.head_dim - 1, high)
        pairs = torch.arange(len(speeds), dtype=torch.float64)
        return 1 - ((pairs - low) / (0.001 if high == low else high - low)).clamp(0, 1)


def _settings(config: dict) -> dict:
    """The first of both keys that scales anything."""
    for key in ("rope_parameters", "rope_scaling"):
        given = config.get(key) or {}
        if (given.get("rope_type") or given.get("type") or "default") != "default":
            return given
    return {}


def _yarn_size(settings: dict) -> float:
    """YaRN's factor (arXiv 2309.00071) of queries and keys, which keeps attention as sharp over a longer context."""
    factor = settings["factor"]

    def of(scale: float) -> float:
        return 1.0 if factor <= 1 else 0.1 * scale * math.log(factor) + 1

    if settings.get("attention_factor") is not None:
        return settings["attention_factor"]
    if settings.get("mscale") and settings.get("mscale_all_dim"):
        return of(settings["mscale"]) / of(settings["mscale_all_dim"])
    return of(1)
