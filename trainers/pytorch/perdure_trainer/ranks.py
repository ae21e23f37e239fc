"""The ranks of the trainer: one process, or those that `torchrun` has started.

Rank 0 speaks with Perdure. The others wait for what it broadcasts, and all of them end when its standard input ends, which is
how the end of Perdure's process, or its will, is known.

Invariants
- All ranks do the same work in the same order, so that no one waits for a call that another does not make.
- A rank that fails by itself ends its process; the launcher ends the others, and Perdure starts them again.
"""

import ctypes
import datetime
import os
import pickle
import select
import threading
import time

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh

# Time for an answer in progress after the last request; longer work is of no use to anyone.
_LEAVE_SECONDS = 10
# Ranks wait as long as the trainer has nothing to do; Perdure's stall limit ends those that hang.
_PATIENCE = datetime.timedelta(days=365)


class Ranks:
    def __init__(self, device: str) -> None:
        self.rank = int(os.environ.get("RANK", "0"))
        self.count = int(os.environ.get("WORLD_SIZE", "1"))
        local = int(os.environ.get("LOCAL_RANK", "0"))
        self.device = torch.device(device, local) if device == "cuda" else torch.device(device)
        if device == "cuda":
            torch.cuda.set_device(self.device)
        backend = "cpu:gloo,cuda:nccl" if device == "cuda" else "gloo"
        if "WORLD_SIZE" in os.environ:
            dist.init_process_group(backend, timeout=_PATIENCE)
        else:
            dist.init_process_group(backend, rank=0, world_size=1, store=dist.HashStore(), timeout=_PATIENCE)
        self.mesh: DeviceMesh = init_device_mesh(device, (self.count,))
        threading.Thread(target=_end_with_input, daemon=True).start()

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    def from_first(self, command: object) -> object:
        """Rank 0's value, on every rank."""
        return self.gathered(command)[0]

    def gathered(self, mine: object) -> list:
        """The values of all ranks, in their order."""
        if self.count == 1:
            return [mine]
        # PyTorch's own exchange of objects needs NumPy.
        said = torch.frombuffer(bytearray(pickle.dumps(mine)), dtype=torch.uint8)
        lengths = [torch.zeros(1, dtype=torch.int64) for _ in range(self.count)]
        dist.all_gather(lengths, torch.tensor([len(said)]))
        longest = max(int(length) for length in lengths)
        padded = torch.zeros(longest, dtype=torch.uint8)
        padded[: len(said)] = said
        every = [torch.zeros(longest, dtype=torch.uint8) for _ in range(self.count)]
        dist.all_gather(every, padded)
        return [
            pickle.loads(ctypes.string_at(each.data_ptr(), int(length)))
            for each, length in zip(every, lengths, strict=True)
        ]

    def summed(self, number: float) -> float:
        """The sum over ranks, added in the order of ranks so that it rounds alike each time."""
        return sum(self.gathered(number))


def _end_with_input() -> None:
    """Ends this process when the other end of its standard input is gone, without reading what is there for rank 0."""
    poll = select.poll()
    poll.register(0, 0)
    while True:
        if any(event & (select.POLLHUP | select.POLLERR | select.POLLNVAL) for _, event in poll.poll()):
            time.sleep(_LEAVE_SECONDS)
            os._exit(0)
        time.sleep(1)  # what is there to read is for rank 0
