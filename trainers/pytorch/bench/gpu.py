"""How far the trainer's updates on a GPU agree with those on the CPU, and how fast they are.

    python3 trainers/pytorch/bench/gpu.py                 # a few minutes, 30 GB of disk
    python3 trainers/pytorch/bench/gpu.py --only agreement

Ends with a line of JSON. Models and batches are drawn, so nothing has to be fetched.

Invariants
- Every update is made by the program that Perdure starts, through its requests.
- Agreement is that of the gradient, read from the first moments, as `npx perdure trainer check` compares it.
- Speed counts the operations that the gradient needs: what activations cost that are computed twice is not counted. The limit is
  a product of large matrices in the same run.
"""

import argparse
import hashlib
import json
import math
import os
import subprocess
import sys
import tempfile
import threading
import time

import torch

_PACKAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, _PACKAGE)

from perdure_trainer.adapter import AdapterShape, adapt, is_of_adapter, name_in_file  # noqa: E402
from perdure_trainer.checkpoint import manifest_text  # noqa: E402
from perdure_trainer.decoder import Policy, Shape  # noqa: E402
from perdure_trainer.tensor_file import Slot, TensorFile, write_tensors  # noqa: E402

SMALL = {
    "vocab_size": 1000,
    "hidden_size": 256,
    "intermediate_size": 704,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "rope_theta": 10000,
}
# The shape of Qwen2.5-1.5B.
_LARGE = {
    "model_type": "qwen2",
    "vocab_size": 151936,
    "hidden_size": 1536,
    "intermediate_size": 8960,
    "num_hidden_layers": 28,
    "num_attention_heads": 12,
    "num_key_value_heads": 2,
    "rope_theta": 1000000,
    "tie_word_embeddings": True,
}
_LORA = {"peft_type": "LORA", "r": 16, "lora_alpha": 32, "target_modules": ["q_proj", "k_proj", "v_proj", "o_proj"]}
_OPTIMIZER = {"learningRate": 1e-4, "beta1": 0.9, "beta2": 0.95, "epsilon": 1e-8, "weightDecay": 0.01, "gradientClip": 1.0}


def _objective(loss: str, kl: float = 0.0, entropy: float = 0.0) -> dict:
    clips = {"clipLow": 0.2, "clipHigh": 0.28, "dualClip": 3.0}
    return {"kind": "policy", "loss": loss, **clips, "klCoefficient": kl, "entropyCoefficient": entropy, "temperature": 1.0}


def draw_checkpoint(folder: str, config: dict, lora: dict | None, device: str) -> None:
    """Writes a checkpoint at step 0 with drawn weights; with `lora` the base `base` and the adapter `0` in the folder."""
    shape = Shape(config, "config")
    with torch.device("meta"):
        model = Policy(shape, False)
        if lora is not None:
            adapt(model, AdapterShape.of(json.dumps(lora).encode(), "adapter"))
    torch.manual_seed(1)

    def drawn(name: str, size: torch.Size) -> torch.Tensor:
        if name.endswith("norm.weight"):
            return torch.ones(size, device=device)
        return torch.randn(size, device=device) * 0.02

    slots = [
        (is_of_adapter(name), Slot(name_in_file(name), torch.float32, tuple(each.shape), lambda name=name, size=each.shape: drawn(name, size)))
        for name, each in model.named_parameters()
    ]
    base = folder if lora is None else os.path.join(folder, "base")
    _write_checkpoint(base, config, "model.safetensors", [slot for of_adapter, slot in slots if not of_adapter], {}, {})
    if lora is None:
        return
    of_base = {"base": {"folder": "base", "sha256": hashlib.sha256(manifest_text(base).encode()).hexdigest()}}
    texts = {"adapter_config.json": json.dumps(lora)}
    own = [slot for of_adapter, slot in slots if of_adapter]
    _write_checkpoint(os.path.join(folder, "0"), config, "adapter_model.safetensors", own, texts, of_base)


def _write_checkpoint(folder: str, config: dict, weights: str, slots: list[Slot], texts: dict[str, str], of_base: dict) -> None:
    os.makedirs(folder)
    write_tensors(os.path.join(folder, weights), slots, {"format": "pt"})
    state = {"version": 0, "step": 0, "chat": "compact", "facts": {}}
    texts = {"config.json": json.dumps(config), "tokenizer.json": "{}", "state.json": json.dumps(state), **texts}
    for name, text in texts.items():
        with open(os.path.join(folder, name), "w", encoding="utf8") as file:
            file.write(text)
    files = {name: {"size": os.path.getsize(os.path.join(folder, name)), "sha256": ""} for name in sorted(os.listdir(folder))}
    with open(os.path.join(folder, "manifest.json"), "w", encoding="utf8") as file:
        json.dump({"format": "perdure-checkpoint-1", **of_base, "files": files}, file)


def _draw_batch(path: str, vocabulary: int, lengths: list[int], turn: int) -> int:
    """Writes episodes whose turns have `turn` tokens, a quarter of them sampled. Returns how many were sampled."""
    torch.manual_seed(2)
    total = sum(lengths)
    place = torch.cat([torch.arange(length) for length in lengths])
    mask = (place % turn >= turn - turn // 4).to(torch.uint8)
    offsets = torch.tensor([0, *lengths]).cumsum(0)
    tensors = {
        "tokens": torch.randint(vocabulary, (total,), dtype=torch.int32),
        "offsets": offsets.to(torch.int32),
        "loss_mask": mask,
        # Ratios from about e^-2 to e^2 around a policy that has learnt nothing.
        "behaviour_logprobs": mask * (torch.rand(total) * 4 - 2 - math.log(vocabulary)),
        "advantages": mask * torch.randn(total),
        "versions": torch.where(mask == 1, 0, -1).to(torch.int32),
    }
    slots = [Slot(name, each.dtype, tuple(each.shape), lambda each=each: each) for name, each in tensors.items()]
    write_tensors(path, slots, {"format": "perdure-update-batch-1"})
    return int(mask.sum())


class _Trainer:
    """The program, as Perdure starts it."""

    def __init__(self, *flags: str) -> None:
        environment = {**os.environ, "PYTHONPATH": _PACKAGE}
        command = [sys.executable, "-m", "perdure_trainer", *flags]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        self._ask("hello", {"threads": os.cpu_count()})

    def update(self, **params: object) -> list[float]:
        """Makes an update. Returns the seconds at which each micro-batch was done."""
        return self._ask("update", params)

    def _ask(self, method: str, params: dict) -> list[float]:
        process = self._process
        process.stdin.write(json.dumps({"id": 0, "method": method, "params": params}) + "\n")
        process.stdin.flush()
        moments = []
        for line in process.stdout:
            answer = json.loads(line)
            if "progress" not in answer:
                if "error" in answer:
                    raise RuntimeError(answer["error"]["message"])
                return moments
            moments.append(time.monotonic())
        raise RuntimeError(f"the trainer ended with {process.wait()}")

    def __enter__(self) -> "_Trainer":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.stdin.close()
        self._process.wait()


def _request(folder: str, start: str, batch: str, objective: dict, micro: int, **others: object) -> dict:
    return {
        "batchFile": batch,
        "fromCheckpointDir": start,
        "toCheckpointDir": folder,
        "version": 1,
        "objective": objective,
        "optimizer": _OPTIMIZER,
        "microBatchTokens": micro,
        **others,
    }


def _apart(mine: str, theirs: str) -> float:
    """How far the gradients behind two checkpoints are apart, relative to the second."""
    files = [TensorFile(os.path.join(folder, "optimizer.safetensors"), "backend") for folder in (mine, theirs)]
    names = [name for name in files[1].names if name.startswith("first.")]
    difference = sum(float((files[0][name].double() - files[1][name].double()).square().sum()) for name in names)
    return math.sqrt(difference / sum(float(files[1][name].double().square().sum()) for name in names))


def _digest(folder: str) -> str:
    return json.loads(manifest_text(folder))["files"]["model.safetensors"]["sha256"]


def measure_agreement(directory: str, device: str) -> list[dict]:
    """Updates of small models of three families and all losses, on the device beside the CPU."""
    found = []
    for family, loss in (("llama", "clipped"), ("qwen2", "cispo"), ("qwen3", "gspo")):
        root = os.path.join(directory, family)
        start, batch = os.path.join(root, "start"), os.path.join(root, "batch.safetensors")
        draw_checkpoint(start, {**SMALL, "model_type": family}, None, "cpu")
        _draw_batch(batch, SMALL["vocab_size"], [40 * (3 + each % 8) for each in range(24)], 20)
        objective = _objective(loss, kl=0.01, entropy=0.001)

        def made(name: str, *flags: str) -> str:
            folder = os.path.join(root, name)
            with _Trainer(*flags) as trainer:
                trainer.update(**_request(folder, start, batch, objective, 4096, referenceCheckpointDir=start))
            return folder

        on_cpu = made("cpu", "--device", "cpu")
        first, again = made("first", "--device", device), made("again", "--device", device)
        half = made("half", "--device", device, "--dtype", "bfloat16")
        half_again = made("half-again", "--device", device, "--dtype", "bfloat16")
        found.append(
            {
                "name": f"{family} {loss}",
                "gradient": _apart(first, on_cpu),
                "gradient in bfloat16": _apart(half, on_cpu),
                "same bytes again": _digest(first) == _digest(again),
                "same bytes again in bfloat16": _digest(half) == _digest(half_again),
            }
        )
        print(json.dumps(found[-1]), file=sys.stderr)
    return found


def _operations(config: dict, lengths: list[int], sampled: int, is_adapter: bool) -> float:
    """Floating-point operations of a gradient: forward, that of the inputs, and that of the weights where they are trained."""
    shape = Shape(config, "config")
    queries, keys = shape.heads * shape.head_dim, shape.key_value_heads * shape.head_dim
    layer = shape.width * (2 * queries + 2 * keys) + 3 * shape.width * shape.inner
    passes = 2 if is_adapter else 3
    products = 2 * passes * (shape.layers * layer * sum(lengths) + shape.width * shape.vocabulary * sampled)
    # Scores and their use, for the tokens before.
    attention = 3 * 2 * shape.layers * queries * sum(length * length for length in lengths)
    return products + attention


def _peak(device: str) -> float:
    """Operations a second of a product in bfloat16."""
    side, wait = (8192, torch.cuda.synchronize) if device == "cuda" else (1024, lambda: None)
    left, right = (torch.randn(side, side, device=device, dtype=torch.bfloat16) for _ in range(2))
    best = math.inf
    for _ in range(20):
        wait()
        since = time.perf_counter()
        left @ right
        wait()
        best = min(best, time.perf_counter() - since)
    return 2 * side**3 / best


class _Memory:
    """The most memory of the GPU that anything held meanwhile, in GB."""

    def __init__(self) -> None:
        self.most = 0.0
        self._ended = threading.Event()

    def __enter__(self) -> "_Memory":
        threading.Thread(target=self._watch, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()

    def _watch(self) -> None:
        while torch.cuda.is_available() and not self._ended.wait(0.2):
            free, total = torch.cuda.mem_get_info()
            self.most = max(self.most, (total - free) / 1e9)


def measure_speed(directory: str, device: str, config: dict, lengths: list[int]) -> list[dict]:
    """Updates of one model: its adapter and all of its weights, in bfloat16, with activations kept and computed again."""
    batch = os.path.join(directory, "large.safetensors")
    sampled = _draw_batch(batch, config["vocab_size"], lengths, 100)
    root = os.path.join(directory, "large")
    draw_checkpoint(root, config, _LORA, device)
    if device == "cuda":
        torch.cuda.empty_cache()
    peak = _peak(device)
    kinds = [
        ("adapter", os.path.join(root, "0"), True, []),
        ("adapter, activations again", os.path.join(root, "0"), True, ["--checkpoint-activations"]),
        ("all weights, activations again", os.path.join(root, "base"), False, ["--checkpoint-activations"]),
    ]
    found = []
    for number, (name, start, is_adapter, flags) in enumerate(kinds):
        folder = os.path.join(root, f"made-{number}")
        with _Memory() as memory, _Trainer("--device", device, "--dtype", "bfloat16", *flags) as trainer:
            since = time.monotonic()
            moments = trainer.update(**_request(folder, start, batch, _objective("clipped"), 16384))
            whole = time.monotonic() - since
        # From the first micro-batch to the last, for all of them.
        seconds = (moments[-1] - moments[0]) * len(moments) / (len(moments) - 1)
        rate = _operations(config, lengths, sampled, is_adapter) / seconds
        figures = {"tokens/s": sum(lengths) / seconds, "teraflops": rate / 1e12, "ratio": rate / peak}
        found.append({"name": name, **figures, "seconds with loading and writing": whole, "gigabytes": memory.most})
        print(json.dumps(found[-1]), file=sys.stderr)
    return [{"name": "limit", "teraflops": peak / 1e12}, *found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("agreement", "speed"))
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--small", action="store_true", help="speed of a model that is small: whether it runs")
    options = parser.parse_args()
    name = torch.cuda.get_device_name() if options.device == "cuda" else "CPU"
    report: dict = {"device": name, "torch": torch.__version__}
    with tempfile.TemporaryDirectory() as directory:
        if options.only != "speed":
            report["agreement"] = measure_agreement(directory, options.device)
        if options.only != "agreement":
            config, count = ({**SMALL, "model_type": "qwen2"}, 48) if options.small else (_LARGE, 256)
            report["speed"] = measure_speed(directory, options.device, config, [600 + 100 * (each % 9) for each in range(count)])
    print(json.dumps(report))


if __name__ == "__main__":
    main()
