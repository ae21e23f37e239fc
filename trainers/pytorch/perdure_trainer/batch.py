"""An update's batch: the tensors of its file, its minibatches, and the micro-batches that are fed.

Invariants
- A batch that is read keeps the rules of the contract, or it is refused as `bad_batch`.
- Every episode that teaches a token is in exactly one minibatch of a pass, and whole in one micro-batch.
- Micro-batches follow from lengths and order alone, so that every rank cuts alike.
"""

from dataclasses import dataclass, replace

import torch

from .draws import seed_of, shuffled, uniforms
from .faults import TrainerFault
from .tensor_file import TensorFile


@dataclass(frozen=True)
class Batch:
    """Tensors over all N tokens; `weights` and `imitation` say what tokens of the `episodes` count in the loss."""

    tokens: torch.Tensor  # int64 [N]
    counted: torch.Tensor  # bool [N]
    behaviour: torch.Tensor  # float32 [N]
    advantages: torch.Tensor  # float32 [N]
    proximal: torch.Tensor  # float32 [N] of the policy that ratios are to: the one that sampled, or where the update starts
    weights: torch.Tensor  # float64 [N]
    imitation: torch.Tensor  # float64 [N] what a token's negative log-likelihood counts, beside its policy loss or, of one that was read, alone
    versions: torch.Tensor  # int64 [N]
    stale: torch.Tensor  # bool [N]
    losses: torch.Tensor  # int64 [N] which of the objective's losses the token has
    episodes: tuple[tuple[int, int], ...]  # begin, end
    given_weights: bool
    turn_starts: torch.Tensor  # bool [N] the first token of each turn
    value_targets: torch.Tensor | None  # float32 [N] what values of turns are fitted to; None where they are not
    start: torch.Tensor | None = None  # float32 [N] of the policy that the update starts from; None where the update is one step

    @property
    def learnt(self) -> torch.Tensor:
        """Tokens that were sampled, and the others that are imitated, bool [N]."""
        return self.counted | (self.imitation > 0)

    @property
    def fed_tokens(self) -> int:
        return sum(end - begin for begin, end in self.episodes)

    @property
    def action_tokens(self) -> int:
        return sum(int(self.counted[begin:end].sum()) for begin, end in self.episodes)

    def of_turns(self) -> "Batch":
        """The same episodes, in which nothing but the first token of each turn is learnt."""
        return replace(self, counted=self.turn_starts, imitation=torch.zeros_like(self.imitation))


@dataclass(frozen=True)
class MicroBatch:
    """Episodes padded to one length: `tokens` [batch, time], and by learnt token its place and its target."""

    tokens: torch.Tensor  # int64 [batch, time], 0 as padding
    rows: torch.Tensor  # int64 [rows] of batch * time: the position that predicts
    sources: torch.Tensor  # int64 [rows] the place of the learnt token in the batch
    sequences: torch.Tensor  # int64 [rows] number of its episode within the micro-batch
    counts: bool = True  # False for one that only keeps ranks in step


def read_batch(path: str, vocabulary: int, tokenless: torch.Tensor | None = None) -> Batch:
    """Reads a batch that fits the vocabulary, and learns no id that no token has."""
    file = TensorFile(path, "bad_batch")

    def vector(name: str, dtype: torch.dtype) -> torch.Tensor:
        tensor = file[name]
        if tensor.dtype != dtype or tensor.dim() != 1:
            raise TrainerFault("bad_batch", f"{path}: {name} is {tensor.dtype} of shape {list(tensor.shape)}")
        return tensor.clone()

    tokens = vector("tokens", torch.int32).long()
    offsets = vector("offsets", torch.int32).tolist()
    counted = vector("loss_mask", torch.uint8).bool()
    behaviour = vector("behaviour_logprobs", torch.float32)
    advantages = vector("advantages", torch.float32)
    versions = vector("versions", torch.int32).long()
    stale = vector("stale", torch.uint8).bool() if "stale" in file else torch.zeros_like(counted)
    given = "weights" in file
    losses = vector("losses", torch.uint8).long() if "losses" in file else torch.zeros_like(tokens)
    turn_starts = vector("turn_starts", torch.uint8).bool() if "turn_starts" in file else torch.zeros_like(counted)
    value_targets = vector("value_targets", torch.float32) if "value_targets" in file else None
    count = len(tokens)
    weights = vector("weights", torch.float32).double() if given else counted.double()
    imitation = vector("imitation", torch.float32).double() if "imitation" in file else torch.zeros(count, dtype=torch.float64)
    for name, tensor in (("loss_mask", counted), ("behaviour_logprobs", behaviour), ("advantages", advantages)):
        if len(tensor) != count:
            raise TrainerFault("bad_batch", f"{path}: {name} has {len(tensor)} elements, tokens has {count}")
    others = (weights, imitation, versions, stale, losses, turn_starts, *(() if value_targets is None else (value_targets,)))
    if any(len(tensor) != count for tensor in others):
        raise TrainerFault("bad_batch", f"{path}: each tensor but offsets must have {count} elements")
    if bool((turn_starts & ~counted).any()):
        raise TrainerFault("bad_batch", f"{path}: a turn begins at a token that was not sampled")
    _check(path, tokens, offsets, counted, imitation, behaviour, advantages, vocabulary)
    if tokenless is not None and bool(torch.isin(tokens[counted | (imitation > 0)], tokenless.cpu()).any()):
        raise TrainerFault("bad_batch", f"{path}: an id that the tokenizer has no token for is to be learnt")
    episodes = tuple(zip(offsets, offsets[1:], strict=False))
    return Batch(
        tokens, counted, behaviour, advantages, behaviour, weights, imitation, versions, stale, losses, episodes, given, turn_starts, value_targets
    )


def _check(path, tokens, offsets, counted, imitation, behaviour, advantages, vocabulary: int) -> None:
    count = len(tokens)
    if not offsets or offsets[0] != 0 or offsets[-1] != count or offsets != sorted(offsets):
        raise TrainerFault("bad_batch", f"{path}: offsets must rise from 0 to {count}")
    if any(begin < end and bool(counted[begin] or imitation[begin] > 0) for begin, end in zip(offsets, offsets[1:], strict=False)):
        raise TrainerFault("bad_batch", f"{path}: an episode counts its first token, which nothing conditions")
    if count and (int(tokens.min()) < 0 or int(tokens.max()) >= vocabulary):
        raise TrainerFault("bad_batch", f"{path}: a token is outside the vocabulary of {vocabulary}")
    if not (bool(behaviour.isfinite().all()) and bool(advantages.isfinite().all())):
        raise TrainerFault("bad_batch", f"{path}: a logprob or an advantage is not finite")
    if not bool((counted | (imitation > 0)).any()):
        raise TrainerFault("bad_batch", f"{path}: no token counts, so there is nothing to learn from")


def _last_learnt(learnt: torch.Tensor, begin: int, end: int) -> int | None:
    """Where the last token that an episode teaches is in the batch; None for an episode without one."""
    places = learnt[begin:end].nonzero()
    return begin + int(places[-1]) if len(places) else None


def divided(batch: Batch, minibatches: int, passes: int, seed: int) -> list[list[Batch]]:
    """The minibatches of all passes, in their order: [passes][minibatches]."""
    useful = [index for index, (begin, end) in enumerate(batch.episodes) if bool(batch.learnt[begin:end].any())]
    parts = max(1, min(minibatches, len(useful)))
    result = []
    for number in range(passes):
        if parts == 1:
            result.append([_weighted(batch)])
            continue
        order = shuffled(useful, uniforms(seed_of(seed, number)))
        result.append([_part(batch, sorted(order[part::parts])) for part in range(parts)])
    return result


def _part(batch: Batch, episodes: list[int]) -> Batch:
    """Its tokens count together what those of the whole do, in the proportions of the whole."""
    part = replace(batch, episodes=tuple(batch.episodes[index] for index in episodes))
    if not batch.given_weights:
        return _weighted(part)
    own = _counted_sum(part)
    scale = _counted_sum(batch) / own if own > 0 else 1.0
    return replace(part, weights=batch.weights * scale, imitation=batch.imitation * scale)


def _counted_sum(batch: Batch) -> float:
    both = batch.weights + batch.imitation
    return sum(float(both[begin:end].sum()) for begin, end in batch.episodes)


def _weighted(batch: Batch) -> Batch:
    """Without weights of their own all counted tokens count alike, and together 1."""
    return batch if batch.given_weights else replace(batch, weights=batch.counted.double() / max(1, batch.action_tokens))


def micro_batches(batch: Batch, token_limit: int) -> list[MicroBatch]:
    """Cuts a minibatch: episodes by falling length, as many at once as the limit allows."""
    spans = []
    for begin, end in batch.episodes:
        last = _last_learnt(batch.learnt, begin, end)
        if last is not None:
            spans.append((begin, last - begin))  # tokens fed: all before the last that is learnt
    spans.sort(key=lambda span: -span[1])
    micros = []
    first = 0
    while first < len(spans):
        time = spans[first][1]
        size = max(1, token_limit // time)
        micros.append(_laid_out(batch, spans[first : first + size], time))
        first += size
    return micros


def _laid_out(batch: Batch, spans: list[tuple[int, int]], time: int) -> MicroBatch:
    tokens = torch.zeros(len(spans), time, dtype=torch.int64)
    learnt = batch.learnt
    rows, sources, sequences = [], [], []
    for index, (begin, length) in enumerate(spans):
        tokens[index, :length] = batch.tokens[begin : begin + length]
        positions = learnt[begin + 1 : begin + 1 + length].nonzero()[:, 0]
        rows.append(index * time + positions)
        sources.append(begin + 1 + positions)
        sequences.append(torch.full_like(positions, index))
    return MicroBatch(tokens, torch.cat(rows), torch.cat(sources), torch.cat(sequences))
