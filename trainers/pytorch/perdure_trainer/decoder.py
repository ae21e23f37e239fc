"""The decoder of Llama, Mistral, Qwen2 and Qwen3, with the names of Hugging Face's checkpoints.

Invariants
- Parameters have the names and shapes of the checkpoint's file; biases and norms of queries and keys are there where the
  family has them.
- A model that this decoder cannot compute is refused by key and value, never ignored. A sequence within the window of a family that has
  one attends to all that is before it; longer ones are refused.
- An id that no token has gets a probability of 0, as where it was sampled (policy/transformer/masked-logits.ts).
- Sequences are padded on the right; padding changes no other token's result.
"""

import torch
import torch.nn.functional as functional
from torch import nn
from torch.utils.checkpoint import checkpoint

from .faults import TrainerFault
from .rope import Rope

# Finite, so that 0 times its logarithm is 0; beside it any logit is lost in rounding.
_NOWHERE = -1e30
_FAMILIES = ("llama", "mistral", "qwen2", "qwen3")


class Shape:
    """The shape of the model in `config.json`."""

    def __init__(self, config: dict, path: str) -> None:
        def refuse(key: str, value: object, allowed: str) -> None:
            raise TrainerFault("bad_checkpoint", f"{path}: {key} is {value!r}, supported is {allowed}")

        family = config.get("model_type", "llama")
        if family not in _FAMILIES:
            refuse("model_type", family, ", ".join(_FAMILIES))
        if config.get("hidden_act", "silu") != "silu":
            refuse("hidden_act", config["hidden_act"], "silu")
        partial = (config.get("rope_parameters") or {}).get("partial_rotary_factor") or config.get("partial_rotary_factor") or 1
        if partial != 1:
            refuse("partial_rotary_factor", partial, "1")
        self.vocabulary: int = config["vocab_size"]
        self.width: int = config["hidden_size"]
        self.inner: int = config["intermediate_size"]
        self.layers: int = config["num_hidden_layers"]
        self.heads: int = config["num_attention_heads"]
        self.key_value_heads: int = config.get("num_key_value_heads") or self.heads
        self.head_dim: int = config.get("head_dim") or self.width // self.heads
        self.rope = Rope(config, self.head_dim, path)
        self.window = _window(config, family)
        self.epsilon: float = config.get("rms_norm_eps", 1e-6)
        self.tied: bool = config.get("tie_word_embeddings", False)
        self.query_bias: bool = config.get("attention_bias") or family == "qwen2"
        self.output_bias: bool = bool(config.get("attention_bias")) and family in ("llama", "qwen3")
        self.inner_bias: bool = bool(config.get("mlp_bias"))
        self.query_norm: bool = family == "qwen3"


def _window(config: dict, family: str) -> int | None:
    """Tokens that a token attends to at most, itself included; Qwen's files name a window that they do not use."""
    is_used = family == "mistral" or (family.startswith("qwen") and config.get("use_sliding_window"))
    return config.get("sliding_window", 4096) if is_used else None


class Norm(nn.Module):
    """x / sqrt(mean(x²) + ε) · weight."""

    def __init__(self, width: int, epsilon: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width))
        self.epsilon = epsilon

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        wide = x.float()
        wide = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + self.epsilon)
        return wide.to(x.dtype) * self.weight


class Attention(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        queries, keys = shape.heads * shape.head_dim, shape.key_value_heads * shape.head_dim
        self.q_proj = nn.Linear(shape.width, queries, bias=shape.query_bias)
        self.k_proj = nn.Linear(shape.width, keys, bias=shape.query_bias)
        self.v_proj = nn.Linear(shape.width, keys, bias=shape.query_bias)
        self.o_proj = nn.Linear(queries, shape.width, bias=shape.output_bias)
        if shape.query_norm:
            self.q_norm = Norm(shape.head_dim, shape.epsilon)
            self.k_norm = Norm(shape.head_dim, shape.epsilon)

    def forward(self, x: torch.Tensor, cosines: torch.Tensor, sines: torch.Tensor) -> torch.Tensor:
        shape = self.shape
        batch, time, _ = x.shape

        def per_head(y: torch.Tensor, heads: int) -> torch.Tensor:
            return y.view(batch, time, heads, shape.head_dim)  # [batch, time, heads, headDim]

        q = per_head(self.q_proj(x), shape.heads)
        k = per_head(self.k_proj(x), shape.key_value_heads)
        v = per_head(self.v_proj(x), shape.key_value_heads).transpose(1, 2)
        if shape.query_norm:
            q, k = self.q_norm(q), self.k_norm(k)
        q, k = (_turned(y.transpose(1, 2), cosines, sines) for y in (q, k))
        attended = functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return self.o_proj(attended.transpose(1, 2).reshape(batch, time, -1))


def _turned(x: torch.Tensor, cosines: torch.Tensor, sines: torch.Tensor) -> torch.Tensor:
    """Rotary positions: pair i of a head is (x_i, x_{i + headDim/2})."""
    first, second = x.float().chunk(2, -1)
    turned = torch.cat((first * cosines - second * sines, second * cosines + first * sines), -1)
    return turned.to(x.dtype)


class FeedForward(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(shape.width, shape.inner, bias=shape.inner_bias)
        self.up_proj = nn.Linear(shape.width, shape.inner, bias=shape.inner_bias)
        self.down_proj = nn.Linear(shape.inner, shape.width, bias=shape.inner_bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.input_layernorm = Norm(shape.width, shape.epsilon)
        self.self_attn = Attention(shape)
        self.post_attention_layernorm = Norm(shape.width, shape.epsilon)
        self.mlp = FeedForward(shape)

    def forward(self, x: torch.Tensor, cosines: torch.Tensor, sines: torch.Tensor) -> torch.Tensor:
        x = x + self.self_attn(self.input_layernorm(x), cosines, sines)
        return x + self.mlp(self.post_attention_layernorm(x))


class Decoder(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(shape.vocabulary, shape.width)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.norm = Norm(shape.width, shape.epsilon)


class Policy(nn.Module):
    """Log-probabilities and entropies of chosen tokens."""

    def __init__(self, shape: Shape, checkpoint_activations: bool) -> None:
        super().__init__()
        self.shape = shape
        self.checkpoint_activations = checkpoint_activations
        self.model = Decoder(shape)
        # Ids that no token has [count]; None where each has one. No part of the checkpoint's weights.
        self.tokenless: torch.Tensor | None = None
        if not shape.tied:
            self.lm_head = nn.Linear(shape.width, shape.vocabulary, bias=False)

    def forward(
        self, tokens: torch.Tensor, rows: torch.Tensor, targets: torch.Tensor | None, temperature: float, entropy_gradient: bool
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """tokens [batch, time]; rows, targets [rows]. Returns logprobs and entropies, float32 [rows]; without targets the hidden states twice."""
        cosines, sines = self.shape.rope.tables(tokens.shape[1], tokens.device)
        x = self.model.embed_tokens(tokens)
        for layer in self.model.layers:
            if self.checkpoint_activations and torch.is_grad_enabled():
                x = checkpoint(layer, x, cosines, sines, use_reentrant=False)
            else:
                x = layer(x, cosines, sines)
        x = self.model.norm(x.flatten(0, 1)[rows])
        if targets is None:
            return x, x
        head = self.model.embed_tokens.weight if self.shape.tied else self.lm_head.weight
        logits = functional.linear(x, head).float() / temperature  # [rows, vocabulary]
        if self.tokenless is not None:
            logits = logits.index_fill(-1, self.tokenless, _NOWHERE)
        logprobs = torch.log_softmax(logits, -1)
        with torch.set_grad_enabled(torch.is_grad_enabled() and entropy_gradient):
            entropies = -(logprobs.exp() * logprobs).sum(-1)
        return logprobs.gather(-1, targets[:, None])[:, 0], entropies
