"""Checkpoints: a policy with its moments, read to and written from the shards of the ranks.

Invariants
- A checkpoint exists when its manifest does, and has its name only when it is complete.
- `config.json`, `tokenizer.json` and what servers read are copied byte for byte.
- Each tensor is gathered when it is written, so that rank 0 holds one whole tensor beside its shards.
- The same policy gives the same bytes, however many ranks write it.
- For a policy that is an adapter only the adapter is written, and the manifest names the same base.
"""

import hashlib
import json
import os
import shutil
from dataclasses import dataclass

import torch
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, Shard

from .adamw import Moments
from .adapter import AdapterShape, adapt, is_of_adapter, name_in_file
from .decoder import Policy, Shape
from .faults import TrainerFault
from .ranks import Ranks
from .tensor_file import Slot, TensorFile, write_tensors

# Files that stay from version to version; those for servers of other projects may be absent.
_CONSTANT = ("config.json", "tokenizer.json")
_FOR_SERVERS = ("generation_config.json", "tokenizer_config.json", "chat_template.jinja")
_ADAPTER_CONFIG, _ADAPTER_WEIGHTS = "adapter_config.json", "adapter_model.safetensors"


@dataclass(frozen=True)
class ModelOptions:
    """How the model computes; its weights are float32 whatever it computes in."""

    dtype: torch.dtype
    checkpoint_activations: bool


@dataclass
class TrainedPolicy:
    """A policy in memory, shard by shard, and what its checkpoint says of itself."""

    model: Policy
    shape: Shape
    moments: Moments
    step: int
    chat: str
    texts: dict[str, bytes]
    objective: str
    # The manifest's entry of an adapter's base.
    base: dict | None
    # The head of learnt values; None before its first fit.
    value_head: list[float] | None

    def pursue(self, objective: str) -> None:
        """Prepares for an objective; the moments of another are dropped."""
        if objective == self.objective:
            return
        for moments in (self.moments.first, self.moments.second):
            for moment in moments.values():
                moment.zero_()
        self.moments.step = 0
        self.objective = objective


def manifest_text(folder: str) -> str | None:
    """The same text means the same checkpoint: it lists a checksum of every file."""
    try:
        with open(os.path.join(folder, "manifest.json"), encoding="utf8") as file:
            return file.read()
    except OSError:
        return None


def finished_statistics(folder: str, version: int) -> dict | None:
    """Statistics of a result that is there already; None where there is no complete checkpoint."""
    if manifest_text(folder) is None:
        return None
    state = _state(folder)
    statistics = state["facts"].get("statistics")
    if state["version"] != version or statistics is None:
        raise TrainerFault("bad_checkpoint", f"{folder} holds another checkpoint (version {state['version']})")
    return statistics


def _state(folder: str) -> dict:
    try:
        with open(os.path.join(folder, "state.json"), encoding="utf8") as file:
            return json.load(file)
    except (OSError, ValueError) as error:
        raise TrainerFault("bad_checkpoint", f"{folder}: state.json: {error}") from error


def _base_of(folder: str) -> tuple[dict | None, str]:
    """The manifest's entry of an adapter's base, and the folder with the base's weights; the folder itself without one."""
    text = manifest_text(folder)
    try:
        base = json.loads(text or "{}").get("base")
        if base is None:
            return None, folder
        name, expected = os.path.basename(base["folder"]), base["sha256"]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise TrainerFault("bad_checkpoint", f"{folder}: manifest.json: {error}") from error
    beside = os.path.join(os.path.dirname(os.path.abspath(folder)), name)
    found = hashlib.sha256((manifest_text(beside) or "").encode()).hexdigest()
    if found != expected:
        raise TrainerFault("bad_checkpoint", f"{folder}: its base {beside} is missing or another one")
    return base, beside


def read_model(folder: str, ranks: Ranks, options: ModelOptions) -> tuple[Policy, Shape, dict[str, bytes]]:
    """The model with the weights of a checkpoint, sharded over the ranks."""
    texts = {}
    base, base_folder = _base_of(folder)
    for name in (*_CONSTANT, *((_ADAPTER_CONFIG,) if base else ()), *_FOR_SERVERS):
        if name in _FOR_SERVERS and not os.path.exists(os.path.join(folder, name)):
            continue
        try:
            with open(os.path.join(folder, name), "rb") as file:
                texts[name] = file.read()
        except OSError as error:
            raise TrainerFault("bad_checkpoint", f"{folder}: {error}") from error
    shape = Shape(json.loads(texts["config.json"]), os.path.join(folder, "config.json"))
    with torch.device("meta"):
        model = Policy(shape, options.checkpoint_activations)
        if base is not None:
            adapt(model, AdapterShape.of(texts[_ADAPTER_CONFIG], os.path.join(folder, _ADAPTER_CONFIG)))
    # Inputs stay as they are: positions are float32, and what is computed again in the backward pass would not be converted again.
    computing = MixedPrecisionPolicy(
        param_dtype=None if options.dtype == torch.float32 else options.dtype, reduce_dtype=torch.float32, cast_forward_inputs=False
    )
    for layer in model.model.layers:
        fully_shard(layer, mesh=ranks.mesh, mp_policy=computing)
    fully_shard(model, mesh=ranks.mesh, mp_policy=computing)
    model.to_empty(device=ranks.device)
    whole = TensorFile(os.path.join(base_folder, "model.safetensors"), "bad_checkpoint")
    adapter = None if base is None else TensorFile(os.path.join(folder, _ADAPTER_WEIGHTS), "bad_checkpoint")
    for name, parameter in model.named_parameters():
        file = adapter if adapter is not None and is_of_adapter(name) else whole
        values = file[name_in_file(name)]
        if tuple(values.shape) != tuple(parameter.shape):
            raise TrainerFault("bad_checkpoint", f"{file.path}: {name_in_file(name)} has shape {list(values.shape)}")
        with torch.no_grad():
            local = parameter.to_local()
            local.copy_(_shard(values, ranks, local.shape))
    missing = tokenless_ids(texts["tokenizer.json"], shape.vocabulary)
    if len(missing) > 0:
        model.tokenless = torch.tensor(missing, device=ranks.device)
    return model, shape, texts


def tokenless_ids(tokenizer: bytes, vocabulary: int) -> list[int]:
    """Ids below the size of the vocabulary that no token has (policy/tokenizer/tokenless-ids.ts); none where a text lists no vocabulary."""
    try:
        content = json.loads(tokenizer)
        listed = content["model"]["vocab"]
        added = [token["id"] for token in content.get("added_tokens") or []]
    except (ValueError, KeyError, TypeError, AttributeError):
        return []
    named = {*(range(len(listed)) if isinstance(listed, list) else listed.values()), *added}
    missing = [token for token in range(vocabulary) if token not in named]
    return missing if len(missing) < vocabulary else []


def trained_parameters(model: Policy) -> dict[str, DTensor]:
    """The parameters that a step changes, by their names in files: the adapter where there is one, else all weights."""
    return {name_in_file(name): parameter for name, parameter in model.named_parameters() if parameter.requires_grad}


def _shard(whole: torch.Tensor, ranks: Ranks, shape: torch.Size) -> torch.Tensor:
    """The part of a tensor that this rank holds; rows are dealt out as `torch.chunk` does."""
    chunks = whole.chunk(ranks.count)
    return chunks[ranks.rank] if ranks.rank < len(chunks) else whole.new_empty(shape)


def read_policy(folder: str, objective: str, ranks: Ranks, options: ModelOptions) -> TrainedPolicy:
    """The policy of a checkpoint, ready to pursue an objective."""
    state = _state(folder)
    model, shape, texts = read_model(folder, ranks, options)
    before = state["facts"].get("objective")
    path = os.path.join(folder, "optimizer.safetensors")
    file = TensorFile(path, "bad_checkpoint") if os.path.exists(path) else None
    if file is None and state["step"] > 0 and before == objective:
        raise TrainerFault("bad_checkpoint", f"{folder} is at step {state['step']}, but has no moments to continue from")

    def moments(prefix: str) -> dict[str, torch.Tensor]:
        found = {}
        for name, parameter in trained_parameters(model).items():
            local = torch.zeros_like(parameter.to_local())
            if file is not None:
                local.copy_(_shard(file[prefix + name], ranks, local.shape))
            found[name] = local
        return found

    step = 0 if file is None else int(file.metadata["step"])
    policy = TrainedPolicy(
        model=model,
        shape=shape,
        moments=Moments(moments("first."), moments("second."), step),
        step=state["step"],
        chat=state["chat"],
        texts=texts,
        objective="policy" if before == "policy" else "supervised",
        base=_base_of(folder)[0],
        value_head=state["facts"].get("valueHead"),
    )
    policy.pursue(objective)
    return policy


def publish(policy: TrainedPolicy, folder: str, version: int, statistics: dict, ranks: Ranks) -> None:
    """Writes a checkpoint beside its place and renames it; every rank takes part."""
    partial = os.path.join(os.path.dirname(folder), f".{os.path.basename(folder)}.{os.getpid()}.partial")
    error = None
    try:
        if ranks.is_first:
            os.mkdir(partial)
    except OSError as failure:
        error = str(failure)
    _agree(error, ranks)
    try:
        _write_files(policy, partial if ranks.is_first else None, version, statistics, ranks)
    except OSError as failure:
        error = str(failure)
    _agree(error, ranks)
    if ranks.is_first:
        try:
            os.rename(partial, folder)
            _flush(os.path.dirname(folder))
        except OSError as failure:
            shutil.rmtree(partial, ignore_errors=True)
            error = str(failure)
    _agree(error, ranks)


def _agree(error: str | None, ranks: Ranks) -> None:
    """Every rank fails where one has."""
    for failure in ranks.gathered(error):
        if failure is not None:
            raise TrainerFault("storage", f"the checkpoint could not be written: {failure}")


def _write_files(policy: TrainedPolicy, partial: str | None, version: int, statistics: dict, ranks: Ranks) -> None:
    parameters = trained_parameters(policy.model)

    def slots(prefix: str, locals_: dict[str, torch.Tensor]) -> list[Slot]:
        return [
            Slot(prefix + name, torch.float32, tuple(parameters[name].shape), _gathering(local, parameters[name]))
            for name, local in locals_.items()
        ]

    weights = {name: parameter.to_local() for name, parameter in parameters.items()}
    moments = policy.moments
    path = (lambda name: None) if partial is None else (lambda name: os.path.join(partial, name))
    weights_file = "model.safetensors" if policy.base is None else _ADAPTER_WEIGHTS
    write_tensors(path(weights_file), slots("", weights), {"format": "pt"})
    both = slots("first.", moments.first) + slots("second.", moments.second)
    write_tensors(path("optimizer.safetensors"), both, {"step": str(moments.step)})
    if partial is None:
        return
    facts = {"statistics": statistics, "objective": policy.objective}
    if policy.value_head is not None:
        facts["valueHead"] = policy.value_head
    state = {"version": version, "step": policy.step, "chat": policy.chat, "facts": facts}
    _write(path("state.json"), (json.dumps(state, indent=2, allow_nan=False) + "\n").encode())
    for name, text in policy.texts.items():
        _write(path(name), text)
    files = {name: _digest(path(name)) for name in sorted(os.listdir(partial))}
    of_base = {} if policy.base is None else {"base": {key: policy.base[key] for key in ("folder", "sha256")}}
    manifest = {"format": "perdure-checkpoint-1", **of_base, "files": files}
    _write(path("manifest.json"), (json.dumps(manifest, indent=2) + "\n").encode())
    _flush(partial)


def _gathering(local: torch.Tensor, parameter: DTensor):
    """Gathers a tensor from its shards when it is called."""
    whole = DTensor.from_local(
        local.detach(), parameter.device_mesh, [Shard(0)], shape=parameter.shape, stride=parameter.stride()
    )
    return whole.full_tensor


def _digest(path: str) -> dict:
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"size": os.path.getsize(path), "sha256": digest}


def _write(path: str, text: bytes) -> None:
    with open(path, "wb") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _flush(folder: str) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
