"""The parts of the trainer that need no other rank. Numbers are worked out by hand."""

import json
import math
import os
import sys
import tempfile
import unittest
from dataclasses import replace
from types import SimpleNamespace

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "bench"))

from gpu import SMALL, draw_checkpoint  # noqa: E402

from perdure_trainer.adamw import Moments, adamw_step  # noqa: E402
from perdure_trainer.batch import Batch, divided, micro_batches  # noqa: E402
from perdure_trainer.checkpoint import ModelOptions, read_model, tokenless_ids  # noqa: E402
from perdure_trainer.decoder import Policy, Shape  # noqa: E402
from perdure_trainer.draws import seed_of, shuffled, uniforms  # noqa: E402
from perdure_trainer.faults import TrainerFault  # noqa: E402
from perdure_trainer.objective import LOSSES, Objective, Tokens, bounded_k3, ratio_sums, token_losses  # noqa: E402
from perdure_trainer.tensor_file import Slot, TensorFile, write_tensors  # noqa: E402
from perdure_trainer.values import fitted, values_by  # noqa: E402

_PLAIN = Objective("policy", ("clipped",), 0.2, 0.2, 3.0, 0.0, 0.0, 1.0)


def _tokens(logprobs: list[float], behaviour: list[float], advantages: list[float]) -> Tokens:
    count = len(logprobs)
    return Tokens(
        logprobs=torch.tensor(logprobs, dtype=torch.float64, requires_grad=True),
        entropies=torch.zeros(count, dtype=torch.float64),
        behaviour=torch.tensor(behaviour, dtype=torch.float64),
        advantages=torch.tensor(advantages, dtype=torch.float64),
        sequences=torch.zeros(count, dtype=torch.int64),
        losses=torch.zeros(count, dtype=torch.int64),
        reference=None,
    )


def _batch(lengths: list[int], counted: list[list[int]]) -> Batch:
    """Episodes of these lengths; of each the places that count."""
    ends = [sum(lengths[: index + 1]) for index in range(len(lengths))]
    episodes = tuple(zip([0, *ends], ends, strict=False))
    mask = torch.zeros(ends[-1], dtype=torch.bool)
    for (begin, _), places in zip(episodes, counted, strict=True):
        for place in places:
            mask[begin + place] = True
    zeros = torch.zeros(ends[-1])
    return Batch(
        tokens=torch.arange(ends[-1]),
        counted=mask,
        behaviour=zeros,
        advantages=zeros,
        proximal=zeros,
        weights=mask.double(),
        imitation=zeros.double(),
        versions=torch.zeros(ends[-1], dtype=torch.int64),
        stale=mask,
        losses=torch.zeros(ends[-1], dtype=torch.int64),
        episodes=episodes,
        given_weights=False,
        turn_starts=torch.zeros_like(mask),
        value_targets=None,
    )


class Losses(unittest.TestCase):
    def test_the_clips_of_ppo(self) -> None:
        # Ratio 1.5: clipped at 1.2 for A = 1, free for A = -1. Ratio 4: at most 3 for A = -1.
        logs = [math.log(1.5), math.log(1.5), math.log(4)]
        tokens = _tokens(logs, [0, 0, 0], [1, -1, -1])
        losses, clipped = token_losses(tokens, _PLAIN)
        self.assertTrue(torch.allclose(losses, torch.tensor([-1.2, 1.5, 3.0], dtype=torch.float64)))
        self.assertEqual(clipped.tolist(), [True, False, True])
        losses.sum().backward()
        self.assertTrue(torch.allclose(tokens.logprobs.grad, torch.tensor([0, 1.5, 0], dtype=torch.float64)))

    def test_a_token_of_the_policy_itself_has_the_gradient_of_its_advantage(self) -> None:
        tokens = _tokens([-1.0, -2.0], [-1.0, -2.0], [0.5, -0.5])
        token_losses(tokens, _PLAIN)[0].sum().backward()
        self.assertTrue(torch.allclose(tokens.logprobs.grad, torch.tensor([-0.5, 0.5], dtype=torch.float64)))

    def test_gspo_has_one_ratio_for_an_episode(self) -> None:
        # The geometric mean of 2 and 1/2 is 1.
        tokens = _tokens([math.log(2), -math.log(2)], [0, 0], [1, 1])
        losses, _ = token_losses(tokens, Objective("policy", ("gspo",), 0.2, 0.2, 3.0, 0.0, 0.0, 1.0))
        self.assertTrue(torch.allclose(losses, torch.tensor([-1.0, -1.0], dtype=torch.float64)))

    def test_gspo_keeps_the_advantage_of_each_token(self) -> None:
        # One ratio of 1 for both: each token's gradient is that of its own advantage.
        tokens = _tokens([math.log(2), -math.log(2)], [0, 0], [1, -3])
        token_losses(tokens, Objective("policy", ("gspo",), 0.2, 0.2, 3.0, 0.0, 0.0, 1.0))[0].sum().backward()
        self.assertTrue(torch.allclose(tokens.logprobs.grad, torch.tensor([-1.0, 3.0], dtype=torch.float64)))

    def test_no_loss_needs_a_sampled_token(self) -> None:
        for loss in LOSSES:
            losses, clipped = token_losses(replace(_tokens([], [], []), reference=torch.zeros(0, dtype=torch.float64)), Objective("policy", (loss,), 0.2, 0.2, 3.0, 0.0, 0.0, 1.0))
            self.assertEqual((len(losses), len(clipped)), (0, 0))

    def test_a_reference_far_below_keeps_its_pull(self) -> None:
        # k3'(x) = exp(x) - 1 at x = -30: the loss falls by 1 as the logprob does.
        tokens = replace(_tokens([-1.0], [-1.0], [0.0]), reference=torch.tensor([-31.0], dtype=torch.float64))
        token_losses(tokens, Objective("policy", ("clipped",), 0.2, 0.2, 3.0, 0.5, 0.0, 1.0))[0].sum().backward()
        self.assertTrue(torch.allclose(tokens.logprobs.grad, torch.tensor([0.5], dtype=torch.float64)))

    def test_epo_draws_entropies_to_its_bounds_and_no_other_loss_does(self) -> None:
        # Entropies 0.05, 0.3 and 0.6 at bounds 0.15 and 0.45 with a pull of 2: 0.05 - 2 * 0.1, 0.3, 0.6 - 2 * 0.15, by a tenth.
        entropies = torch.tensor([0.05, 0.3, 0.6], dtype=torch.float64, requires_grad=True)
        tokens = replace(_tokens([0.0] * 3, [0.0] * 3, [0.0] * 3), entropies=entropies)
        objective = Objective("policy", ("epo",), 0.2, 0.2, 3.0, 0.0, 0.1, 1.0, entropy_band=(0.15, 0.45, 2.0))
        losses, _ = token_losses(tokens, objective)
        self.assertTrue(torch.allclose(losses, torch.tensor([0.015, -0.03, -0.03], dtype=torch.float64)))
        losses.sum().backward()
        self.assertTrue(torch.allclose(entropies.grad, torch.tensor([-0.3, -0.1, 0.1], dtype=torch.float64)))
        plain, _ = token_losses(tokens, replace(objective, losses=("clipped",)))
        self.assertTrue(torch.allclose(plain, -0.1 * entropies))

    def test_k3_is_a_straight_line_beyond_a_ratio_of_2(self) -> None:
        x = torch.tensor([0.0, -1.0, 15.0], dtype=torch.float64, requires_grad=True)
        values = bounded_k3(x)
        self.assertTrue(torch.allclose(values, torch.tensor([0, math.exp(-1), 15 + 1 - 2 * math.log(2)], dtype=torch.float64)))
        values.sum().backward()
        self.assertTrue(torch.allclose(x.grad, torch.tensor([0, math.exp(-1) - 1, 1], dtype=torch.float64)))

    def test_ratios_are_counted_in_their_bins(self) -> None:
        sums = ratio_sums(torch.tensor([0.0, math.log(3), -3.0], dtype=torch.float64))
        self.assertEqual(sums["histogram"], [1, 0, 0, 0, 1, 0, 0, 1, 0])
        self.assertAlmostEqual(sums["ratios"], 1 + 3 + math.exp(-3))


class Values(unittest.TestCase):
    def test_one_turn_moves_the_head_by_its_error_shared_with_ten_turns_of_staying(self) -> None:
        # Features [3, 1], an error of 7 - 0.5 * 3: the change is features * 5.5 / (10 + 10).
        head = fitted([0.5, 0.0], torch.tensor([[3.0]]), torch.tensor([7.0]))
        self.assertAlmostEqual(head[0], 0.5 + 3 * 5.5 / 20, places=12)
        self.assertAlmostEqual(head[1], 5.5 / 20, places=12)
        self.assertEqual(values_by(None, torch.ones(2, 3)).tolist(), [0.0, 0.0])

    def test_many_turns_give_the_head_at_which_the_gradient_is_zero(self) -> None:
        hidden, targets = torch.linspace(-1, 1, 40).reshape(20, 2).sin(), torch.linspace(0, 1, 20)
        head = torch.tensor(fitted(None, hidden, targets), dtype=torch.float64, requires_grad=True)
        features = torch.cat((hidden.double() / math.sqrt(2), torch.ones(20, 1, dtype=torch.float64)), 1)
        ((features @ head - targets.double()).square().sum() / 2 + 5 * head.square().sum()).backward()
        self.assertLess(float(head.grad.abs().max()), 1e-9)


class Steps(unittest.TestCase):
    def test_the_first_step_goes_by_the_learning_rate_and_decays_matrices_alone(self) -> None:
        settings = {"beta1": 0.9, "beta2": 0.95, "learningRate": 0.1, "gradientClip": 1.0, "weightDecay": 0.5, "epsilon": 0.0}
        matrix, norm = torch.ones(1, 1), torch.ones(1)
        gradient = torch.tensor([0.6])
        moments = Moments({"m": torch.zeros(1, 1), "n": torch.zeros(1)}, {"m": torch.zeros(1, 1), "n": torch.zeros(1)}, 0)
        adamw_step({"m": (matrix, gradient.reshape(1, 1), True), "n": (norm, gradient, False)}, moments, settings, 0.5)
        # A first step is the learning rate in the gradient's direction: 1 · (1 - 0.05) - 0.1, and 1 - 0.1.
        self.assertAlmostEqual(float(matrix), 0.85, places=6)
        self.assertAlmostEqual(float(norm), 0.9, places=6)


class Batches(unittest.TestCase):
    def test_draws_are_those_of_perdure(self) -> None:
        # identity/identity.ts: seedOf(7, 0) and the first uniform of uniforms(1); learning/rollout/shuffled.ts.
        self.assertEqual(seed_of(7, 0), 2049036381)
        self.assertAlmostEqual(next(uniforms(1)), 0.6270739405881613, places=12)
        self.assertEqual(shuffled([0, 1, 2], iter([0.0, 0.0])), [1, 2, 0])

    def test_each_episode_with_a_counted_token_is_in_one_minibatch(self) -> None:
        batch = _batch([4, 3, 5, 2, 6], [[2], [], [1, 3], [1], [5]])
        for parts in divided(batch, 3, 4, 9):
            found = sorted(episode for part in parts for episode in part.episodes)
            self.assertEqual(found, [(0, 4), (7, 12), (12, 14), (14, 20)])
            for part in parts:
                self.assertAlmostEqual(sum(float(part.weights[begin:end].sum()) for begin, end in part.episodes), 1.0)

    def test_micro_batches_keep_to_the_limit_and_leave_ends_out(self) -> None:
        micros = micro_batches(_batch([9, 4, 3], [[2, 5], [3], [1]]), 8)
        # Spans of 5, 3 and 1: what is before the last counted token.
        self.assertEqual([tuple(micro.tokens.shape) for micro in micros], [(1, 5), (2, 3)])
        self.assertEqual([micro.sources.tolist() for micro in micros], [[2, 5], [12, 14]])


class Models(unittest.TestCase):
    def test_positions_stay_float32_in_a_model_that_computes_in_bfloat16_also_when_it_is_computed_again(self) -> None:
        dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
        seen = []
        with tempfile.TemporaryDirectory() as folder:
            start = os.path.join(folder, "0")
            draw_checkpoint(start, SMALL, None, "cpu")
            alone = SimpleNamespace(rank=0, count=1, device=torch.device("cpu"), mesh=init_device_mesh("cpu", (1,)))
            model, _, _ = read_model(start, alone, ModelOptions(torch.bfloat16, True))
            for layer in model.model.layers:
                layer.self_attn.register_forward_pre_hook(lambda _, given: seen.append([each.dtype for each in given]))
            rows = torch.arange(5)
            model(torch.arange(6)[None], rows, rows + 1, 1.0, False)[0].sum().backward()
        dist.destroy_process_group()
        # The types in each layer forward, and again backward.
        self.assertEqual(seen, [[torch.bfloat16, torch.float32, torch.float32]] * 2 * SMALL["num_hidden_layers"])


class Vocabularies(unittest.TestCase):
    def test_ids_beyond_the_tokenizer_and_holes_within_it_have_no_token(self) -> None:
        tokenizer = {"added_tokens": [{"id": 4}], "model": {"vocab": {"a": 0, "b": 2}}}
        self.assertEqual(tokenless_ids(json.dumps(tokenizer).encode(), 6), [1, 3, 5])
        self.assertEqual(tokenless_ids(b"{}", 6), [])

    def test_an_id_without_a_token_has_no_probability_and_gets_no_gradient(self) -> None:
        shape = Shape({**SMALL, "tie_word_embeddings": False}, "config.json")
        model = Policy(shape, False)
        for parameter in model.parameters():
            torch.nn.init.normal_(parameter, std=0.1)
        model.tokenless = torch.tensor([1, 3])
        rows = torch.arange(5)
        logprobs, entropies = model(torch.arange(6)[None], rows, torch.tensor([0, 1, 2, 3, 4]), 1.0, True)
        self.assertTrue(bool((logprobs[[1, 3]] < -1e29).all()) and bool((logprobs[[0, 2, 4]] > -50).all()))
        (logprobs[[0, 2, 4]].sum() + entropies.sum()).backward()
        gradient = model.lm_head.weight.grad
        self.assertEqual(float(gradient[[1, 3]].abs().sum()), 0.0)
        self.assertTrue(bool(gradient.isfinite().all()) and float(gradient[0].abs().sum()) > 0)


class Files(unittest.TestCase):
    def test_what_is_written_is_read(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.safetensors")
            numbers = {"b": torch.arange(6, dtype=torch.float32).reshape(2, 3), "a": torch.tensor([1, 2], dtype=torch.int32)}
            slots = [Slot(name, tensor.dtype, tuple(tensor.shape), lambda tensor=tensor: tensor) for name, tensor in numbers.items()]
            write_tensors(path, slots, {"step": "3"})
            file = TensorFile(path, "backend")
            self.assertEqual(file.metadata, {"step": "3"})
            for name, tensor in numbers.items():
                self.assertTrue(torch.equal(file[name], tensor))
            with self.assertRaises(TrainerFault):
                file["c"]


if __name__ == "__main__":
    unittest.main()
