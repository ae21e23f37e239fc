"""One update: gradients of the objective over a batch or its minibatches, a step of the optimizer for each, the next checkpoint.

Invariants
- Loss and gradient are means over all counted tokens of the batch, by the weights that it gives them. How it is cut into
  micro-batches and dealt out to ranks changes them by rounding only.
- Origins are measured before the first step; how far the update itself has moved when a step reads its tokens is `drift` alone.
- Everything but `seconds` is a function of batch, checkpoints, settings and the number of ranks, to the bit.
- Every rank runs as many micro-batches as the others; one that would have none feeds tokens that count nothing.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch

from .adamw import adamw_step, check_norm, gradient_norm
from .batch import Batch, MicroBatch, divided, micro_batches, read_batch
from .checkpoint import ModelOptions, TrainedPolicy, finished_statistics, manifest_text, publish, read_model, read_policy, trained_parameters
from .decoder import Policy
from .faults import TrainerFault
from .objective import Objective, Tokens, bounded_k3, ratio_sums, surges, token_losses
from .ranks import Ranks
from .values import fitted, values_by

Progress = Callable[[int, int], None]


@dataclass
class _Remembered:
    manifest: str
    model: object


class Updates:
    """The updates of a process, with the policies that it keeps between them."""

    def __init__(self, ranks: Ranks, options: ModelOptions) -> None:
        self._ranks = ranks
        self._options = options
        self._trained: _Remembered | None = None
        self._reference: _Remembered | None = None

    def update(self, request: dict, on_progress: Progress) -> dict:
        """Makes an update or finds its result. Returns its statistics."""
        since = time.monotonic()
        folder, version = request["toCheckpointDir"], request["version"]
        found = finished_statistics(folder, version)
        if found is not None:
            return {**found, "seconds": time.monotonic() - since}
        objective = Objective.of(request["objective"])
        policy = self._take(request["fromCheckpointDir"], objective.kind)
        batch = read_batch(request["batchFile"], policy.shape.vocabulary, policy.model.tokenless)
        _check_window(batch, policy)
        if batch.value_targets is not None:
            hidden = self._hidden(policy.model, batch, request["microBatchTokens"])
            policy.value_head = fitted(policy.value_head, hidden, batch.value_targets[batch.turn_starts])
        reference = self._reference_of(request, objective, policy)
        division = request.get("division") or {"minibatches": 1, "passes": 1, "seed": 0}
        if int(batch.losses.max()) >= len(objective.losses):
            raise TrainerFault("bad_batch", f"a token has loss {int(batch.losses.max())} of {len(objective.losses)}")
        if division["minibatches"] * division["passes"] > 1 or objective.importance_limit is not None:
            batch = self._with_start(policy.model, batch, objective, request["microBatchTokens"])
        target = division.get("targetKl")
        passes = divided(batch, division["minibatches"], division["passes"], division["seed"])
        parts = [part for each in passes for part in each]
        gated = "dgg" in objective.losses
        steps, heads = [], []
        for number, part in enumerate(parts):
            def report(done: int, total: int, number: int = number) -> None:
                on_progress(number * total + done, len(parts) * total)

            means = self._gradient(policy.model, reference, part, objective, request["microBatchTokens"], report)
            norm, head = self._norms(policy)
            check_norm(norm, request.get("gradientLimit"))
            steps.append({**means, "gradientNorm": norm})
            ends = target is not None and means["drift"] > 1.5 * target
            ends = ends or (gated and surges(number // len(passes[0]), head, heads))
            heads.append(head)
            if ends:
                break
            self._step(policy, request, norm)
        self._check_weights(policy)
        statistics = _statistics_of(steps, passes[0], batch)
        if target is not None or gated:
            statistics["rejected"] = len(parts) - len(steps) + int(ends)
        publish(policy, folder, version, statistics, self._ranks)
        self._trained = _Remembered(manifest_text(folder) or "", policy)
        return {**statistics, "seconds": time.monotonic() - since}

    def values(self, request: dict) -> list[float]:
        """The value of each turn of a batch, in its order."""
        folder = request["checkpointDir"]
        policy = self._take(folder, "policy")
        batch = read_batch(request["batchFile"], policy.shape.vocabulary, policy.model.tokenless)
        _check_window(batch, policy)
        found = values_by(policy.value_head, self._hidden(policy.model, batch, request["microBatchTokens"]))
        self._trained = _Remembered(manifest_text(folder) or "", policy)
        return found.tolist()

    def _hidden(self, model: Policy, batch: Batch, token_limit: int) -> torch.Tensor:
        """The hidden states before the turns of a batch, float32 [turns, width] on the CPU."""
        device, found = self._ranks.device, []
        for micro in self._share(micro_batches(batch.of_turns(), token_limit)):
            with torch.no_grad():
                hidden, _ = model(micro.tokens.to(device), micro.rows.to(device), None, 1.0, False)
            found.append((micro.sources, hidden.float().cpu()))
        every = [part for parts in self._ranks.gathered(found) for part in parts]
        whole = torch.zeros(len(batch.tokens), model.shape.width)
        for sources, hidden in every:
            whole[sources] = hidden
        return whole[batch.turn_starts]

    def _take(self, folder: str, objective: str) -> TrainedPolicy:
        """The policy of a checkpoint; a failed update leaves none behind."""
        known, self._trained = self._trained, None
        if known is not None and known.manifest == manifest_text(folder):
            known.model.pursue(objective)
            return known.model
        return read_policy(folder, objective, self._ranks, self._options)

    def _reference_of(self, request: dict, objective: Objective, policy: TrainedPolicy) -> Policy | None:
        if objective.kind == "supervised" or (objective.kl_coefficient == 0 and "distillation" not in objective.losses):
            return None
        folder = request.get("referenceCheckpointDir")
        if folder is None:
            raise TrainerFault("bad_checkpoint", "klCoefficient is above 0 or the loss is distillation, but no reference checkpoint is given")
        manifest = manifest_text(folder)
        if self._reference is None or self._reference.manifest != manifest:
            self._reference = None
            model, shape, _ = read_model(folder, self._ranks, self._options)
            if shape.vocabulary != policy.shape.vocabulary:
                raise TrainerFault("bad_checkpoint", f"the reference {folder} has {shape.vocabulary} tokens, the policy {policy.shape.vocabulary}")
            self._reference = _Remembered(manifest or "", model)
        return self._reference.model

    def _with_start(self, model: Policy, batch: Batch, objective: Objective, token_limit: int) -> Batch:
        """The batch with logprobs of the policy that the update starts from; ratios are to them where the objective is decoupled (arXiv 2110.00641)."""
        if objective.kind == "supervised":
            return batch
        found = []
        for micro in self._share(micro_batches(batch, token_limit)):
            with torch.no_grad():
                logprobs = self._forward(model, None, batch, micro, objective).logprobs
            found.append((micro.sources, logprobs.cpu()))
        start, counted = batch.behaviour.clone(), batch.counted
        for every in self._ranks.gathered(found):
            for sources, logprobs in every:
                start[sources] = logprobs
        if objective.importance_limit is None:
            return replace(batch, start=start)
        advantages = batch.advantages.clone()
        weights = (start[counted] - batch.behaviour[counted]).exp().clamp(max=objective.importance_limit)
        advantages[counted] = advantages[counted] * weights
        return replace(batch, start=start, proximal=start, advantages=advantages)

    def _gradient(
        self, model: Policy, reference: Policy | None, batch: Batch, objective: Objective, token_limit: int, on_progress: Progress
    ) -> dict:
        """Sums the gradient of the batch's mean objective up. Returns means over the counted tokens of all ranks."""
        ranks = self._ranks
        model.zero_grad(set_to_none=True)
        micros = self._share(micro_batches(batch, token_limit))
        sums = {"loss": 0.0, "kl": 0.0, "drift": 0.0, "referenceKl": 0.0, "entropy": 0.0, "clipped": 0.0}
        origins: dict[tuple[int, bool], list[torch.Tensor]] = {}
        for done, micro in enumerate(micros):
            tokens = self._forward(model, reference, batch, micro, objective)
            is_sampled = batch.counted[micro.sources]
            sampled, acted = micro.sources[is_sampled], tokens.at(is_sampled.to(ranks.device))
            losses, clipped = token_losses(acted, objective)
            weights = batch.weights[sampled].to(ranks.device, torch.float32)
            # Ranks' gradients are averaged, and each has its own part of the sum.
            scale = ranks.count if micro.counts else 0
            imitation = batch.imitation[micro.sources].to(ranks.device, torch.float32)
            (((weights * losses).sum() - (imitation * tokens.logprobs).sum()) * scale).backward()
            if micro.counts:
                sums["loss"] -= float((batch.imitation[micro.sources] * tokens.logprobs.detach().cpu().double()).sum())
                _add(sums, origins, batch, sampled, acted, losses, clipped, objective)
            on_progress(done + 1, len(micros))
        return self._means(sums, origins, batch)

    def _share(self, micros: list[MicroBatch]) -> list[MicroBatch]:
        """This rank's part of the micro-batches, as many as every other has."""
        mine = micros[self._ranks.rank :: self._ranks.count]
        most = -(-len(micros) // self._ranks.count)
        return mine + [replace(micros[-1], counts=False)] * (most - len(mine))

    def _forward(
        self, model: Policy, reference: Policy | None, batch: Batch, micro: MicroBatch, objective: Objective
    ) -> Tokens:
        device = self._ranks.device
        fed = (micro.tokens.to(device), micro.rows.to(device), batch.tokens[micro.sources].to(device), objective.temperature)
        referred = None
        if reference is not None:
            with torch.no_grad():
                referred, _ = reference(*fed, False)
        logprobs, entropies = model(*fed, objective.entropy_coefficient != 0)
        return Tokens(
            logprobs=logprobs,
            entropies=entropies,
            behaviour=batch.proximal[micro.sources].to(device),
            advantages=batch.advantages[micro.sources].to(device),
            sequences=micro.sequences.to(device),
            losses=batch.losses[micro.sources].to(device),
            reference=referred,
        )

    def _means(self, sums: dict, origins: dict, batch: Batch) -> dict:
        """Adds up what the ranks have, in their order."""
        every = self._ranks.gathered((sums, {key: torch.cat(parts) for key, parts in origins.items()}))
        totals = {key: sum(found[key] for found, _ in every) for key in sums}
        action_tokens = batch.action_tokens
        each = max(1, action_tokens)
        merged = {}
        for key in sorted({key for _, parts in every for key in parts}):
            merged[key] = torch.cat([parts[key] for _, parts in every if key in parts])
        return {
            "loss": totals["loss"],
            "kl": totals["kl"] / each,
            "drift": totals["drift"] / each,
            "referenceKl": totals["referenceKl"] / each,
            "entropy": totals["entropy"] / each,
            "clipFraction": totals["clipped"] / each,
            "actionTokens": action_tokens,
            "tokens": batch.fed_tokens,
            "origins": [{"version": version, "stale": stale, **ratio_sums(ratios)} for (version, stale), ratios in merged.items()],
        }

    def _norms(self, policy: TrainedPolicy) -> tuple[float, float]:
        """The norm of the gradient, and that of the output matrix, which is the embeddings where they are tied; with an adapter both are its own."""
        gradients = {name: gradient for name, (_, gradient, _) in _shards(policy).items()}
        norm = gradient_norm(list(gradients.values()), self._ranks.summed)
        head = gradients.get("lm_head.weight", gradients.get("model.embed_tokens.weight"))
        return norm, norm if head is None else gradient_norm([head], self._ranks.summed)

    def _step(self, policy: TrainedPolicy, request: dict, norm: float) -> None:
        adamw_step(_shards(policy), policy.moments, request["optimizer"], norm)
        policy.step += 1

    def _check_weights(self, policy: TrainedPolicy) -> None:
        broken = [name for name, parameter in policy.model.named_parameters() if not bool(parameter.to_local().isfinite().all())]
        for names in self._ranks.gathered(broken):
            if names:
                raise TrainerFault("not_finite", f"{names[0]} is not finite after {policy.step} steps: lower the learning rate")


def _shards(policy: TrainedPolicy) -> dict[str, tuple[torch.Tensor, torch.Tensor, bool]]:
    """This rank's part of each trained weight, its gradient, and whether it is a matrix."""
    shards = {}
    for name, parameter in trained_parameters(policy.model).items():
        gradient = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        shards[name] = (parameter.to_local(), gradient.to_local(), parameter.dim() > 1)
    return shards


def _check_window(batch: Batch, policy: TrainedPolicy) -> None:
    """Checks the window: all tokens before the last counted one are fed, and each must attend to all before it."""
    longest = max((end - begin for begin, end in batch.episodes), default=0)
    if policy.shape.window is not None and longest > policy.shape.window:
        raise TrainerFault("bad_batch", f"the model attends to the last {policy.shape.window} tokens alone, and an episode has {longest}: lower policy.contextLength")


def _add(
    sums: dict, origins: dict, batch: Batch, sampled: torch.Tensor, tokens: Tokens, losses: torch.Tensor, clipped: torch.Tensor, objective: Objective
) -> None:
    """Adds what the sampled tokens of a micro-batch gave to the statistics, in double precision."""
    def total(values: torch.Tensor) -> float:
        return float(values.detach().cpu().double().sum())

    sums["loss"] += float((batch.weights[sampled] * losses.detach().cpu().double()).sum())
    sums["entropy"] += total(tokens.entropies)
    if objective.kind == "supervised":
        return
    sums["clipped"] += total(clipped)
    logprobs, behaviour = tokens.logprobs.detach().cpu().double(), batch.behaviour[sampled].double()
    # Origins are measured before the first step: what later steps find is the update's own drift too.
    start = logprobs if batch.start is None else batch.start[sampled].double()
    sums["kl"] += total(bounded_k3(logprobs - behaviour))
    sums["drift"] += total(bounded_k3(logprobs - start))
    if tokens.reference is not None:
        sums["referenceKl"] += total(bounded_k3(tokens.reference.double() - tokens.logprobs.detach().double()))
    versions, stale = batch.versions[sampled], batch.stale[sampled]
    for version, is_stale in sorted(set(zip(versions.tolist(), stale.tolist(), strict=True))):
        chosen = (versions == version) & (stale == is_stale)
        origins.setdefault((version, is_stale), []).append((start - behaviour)[chosen])


def _statistics_of(steps: list[dict], first_pass: list[Batch], batch: Batch) -> dict:
    """Statistics of an update from those of its computed steps: means over all tokens of all steps, the norm over steps."""
    if len(steps) == 1:
        return steps[0]
    seen = max(1, sum(step["actionTokens"] for step in steps))
    means = {
        key: sum(step[key] * step["actionTokens"] for step in steps) / seen
        for key in ("loss", "kl", "drift", "referenceKl", "entropy", "clipFraction")
    }
    return {
        **means,
        "gradientNorm": sum(step["gradientNorm"] for step in steps) / len(steps),
        "actionTokens": sum(part.action_tokens for part in first_pass),
        "tokens": sum(part.fed_tokens for part in first_pass),
        "origins": [] if batch.start is None else _origins_of(batch),
    }


def _origins_of(batch: Batch) -> list[dict]:
    """The ratios of the policy that the update starts from, whichever steps it takes."""
    ratios = (batch.start.double() - batch.behaviour.double())[batch.counted]
    versions, stale = batch.versions[batch.counted], batch.stale[batch.counted]
    return [
        {"version": version, "stale": is_stale, **ratio_sums(ratios[(versions == version) & (stale == is_stale)])}
        for version, is_stale in sorted(set(zip(versions.tolist(), stale.tolist(), strict=True)))
    ]
