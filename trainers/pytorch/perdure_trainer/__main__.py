"""`python3 -m perdure_trainer`: answers Perdure's requests on standard input, one JSON line each.

    policy.trainer: [python3, -m, perdure_trainer]
    policy.trainer: [torchrun, --standalone, --nproc-per-node, '2', -m, perdure_trainer]

Invariants
- Standard output holds nothing but the protocol; what else is printed goes to standard error.
- Each request is answered once, by rank 0. A fault that the contract has no kind for ends the process.
"""

import argparse
import json
import os
import sys
import traceback

from .launcher import end_with_launcher

# Before torch is loaded, which takes seconds in which the launcher may end.
end_with_launcher()
# Before torch is loaded: CUDA's products are deterministic only with it.
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

import torch

from .checkpoint import ModelOptions
from .faults import TrainerFault
from .objective import LOSSES
from .ranks import Ranks
from .update import Updates

_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


class Answers:
    """The lines that rank 0 writes; the other ranks write none."""

    def __init__(self, is_first: bool) -> None:
        self._file = os.fdopen(os.dup(1), "w", encoding="utf8") if is_first else None
        os.dup2(2, 1)

    def write(self, line: dict) -> None:
        if self._file is not None:
            self._file.write(json.dumps(line, allow_nan=False) + "\n")
            self._file.flush()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="perdure_trainer")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--dtype", choices=tuple(_DTYPES), default="float32", help="what the model computes in")
    parser.add_argument("--checkpoint-activations", action="store_true", help="compute activations again in the backward pass: less memory, more time")
    return parser.parse_args()


def main() -> None:
    """Answers requests until standard input ends."""
    options = _options()
    answers = Answers(os.environ.get("RANK", "0") == "0")
    torch.use_deterministic_algorithms(True)
    ranks = Ranks(options.device)
    updates = Updates(ranks, ModelOptions(_DTYPES[options.dtype], options.checkpoint_activations))
    while True:
        line = sys.stdin.readline() if ranks.is_first else ""
        command = ranks.from_first(json.loads(line) if line else None)
        if command is None:
            # Leaving without a word: tearing the group down may abort the process.
            sys.stderr.flush()
            os._exit(0)
        _answer(command, updates, ranks, answers)


def _answer(command: dict, updates: Updates, ranks: Ranks, answers: Answers) -> None:
    number, method, params = command["id"], command["method"], command.get("params") or {}
    try:
        if method == "hello":
            torch.set_num_threads(max(1, int(params.get("threads", 1)) // ranks.count))
            result = {"methods": ["update", "values"], "losses": list(LOSSES), "ranks": ranks.count, "torch": torch.__version__}
        elif method == "update":
            result = updates.update(
                params,
                lambda done, total: answers.write({"id": number, "progress": {"done": done, "total": total}}),
            )
        elif method == "values":
            result = {"values": updates.values(params)}
        else:
            raise TrainerFault("backend", f'there is no method "{method}"')
    except TrainerFault as fault:
        answers.write({"id": number, "error": {"kind": fault.kind, "message": fault.message}})
    except BaseException:
        # Other ranks may be waiting for this one: only a new start is safe.
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    else:
        answers.write({"id": number, "result": result})


if __name__ == "__main__":
    main()
