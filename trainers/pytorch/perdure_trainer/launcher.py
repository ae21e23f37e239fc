"""The life of a rank is bound to that of its launcher, from the first moment on: loading PyTorch takes seconds, and meeting the other
ranks waits for them without end.

Invariants
- No rank outlives its launcher, not even one that is stopped, hangs or still starts: it would keep its memory and its standard output.
"""

import ctypes
import os
import signal
import sys

# PR_SET_PDEATHSIG of prctl(2).
_DEATH_SIGNAL = 1
# Where a process goes whose parent has ended.
_INIT = 1


def end_with_launcher() -> None:
    """Has the kernel kill this process when its parent ends: torchrun gives ranks sessions of their own, beyond its group."""
    if "WORLD_SIZE" not in os.environ or sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL)
    # It may have ended before the kernel knew.
    if os.getppid() == _INIT and os.environ.get("TORCHELASTIC_RUN_ID") is not None:
        os._exit(1)
