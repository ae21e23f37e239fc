"""
Fresh simulators, and the calls that they take.

Invariants
- Nothing that an agent wrote is ever evaluated as code: a call is a method name, looked up among the public
  methods of the instance's simulators, and arguments that are data.
- The text of a result is the one that the package's `execute_multi_turn_func_call` gives for the same call.
- The answer to a call that cannot be made, takes too long or needs too much memory is a text.
"""

import copy
import importlib
import inspect
import json
import math
import signal
import time

CALL_SECONDS = 3.0  # the slowest call of all ground truths takes a few milliseconds
SESSION_SECONDS = 20.0  # all calls of an episode together
MEMORY_BYTES = 2 << 30
NAME_CHARACTERS = 200
PRECISION_LIMIT = 100_000  # digits; beyond, `decimal` computes for minutes and cannot be interrupted

# As `execute_multi_turn_func_call` refuses them.
FORBIDDEN = ("kill", "exit", "quit", "remove", "unlink", "popen", "Popen", "run")


class OutOfTime(BaseException):
    """Raised inside a call; not an Exception, so that no simulator swallows it."""


class Simulation:
    """Fresh simulators of an entry, and the calls that they take."""

    def __init__(self, config, class_names, long_context):
        # The package's own module must not be asked to evaluate anything: only its table is used.
        from bfcl_eval.constants import executable_backend_config as backend

        self.instances = {}
        self.methods = {}
        self.seconds_left = SESSION_SECONDS
        for class_name in class_names:
            instance = getattr(importlib.import_module(backend.CLASS_FILE_PATH_MAPPING[class_name]), class_name)()
            if class_name not in backend.STATELESS_CLASSES:
                instance._load_scenario(copy.deepcopy(config.get(class_name, {})), long_context=long_context)
            self.instances[class_name] = instance
            for name, method in inspect.getmembers(instance, predicate=inspect.ismethod):
                if not name.startswith("_"):
                    self.methods[name] = method

    def call(self, name, positional, named):
        """The text that answers a call, and whether the call named a function."""
        if name in FORBIDDEN:
            return f"Error during execution: Function call {name} is not allowed.", False
        method = self.methods.get(name)
        if method is None:
            first = name.split(".")[0][:NAME_CHARACTERS]
            return f"Error during execution: name '{first}' is not defined", False
        refusal = refusal_of(named)
        if refusal is not None:
            return f"Error during execution: {refusal}", True
        started = time.monotonic()
        try:
            with time_limit(min(CALL_SECONDS, self.seconds_left)):
                # Simulators keep and change what they are given; the same call is played again to be graded.
                text = text_of(method(*copy.deepcopy(positional), **copy.deepcopy(named)))
        except OutOfTime:
            text = "Error during execution: the call took too long."
        except Exception as error:
            text = f"Error during execution: {error}"
        finally:
            self.seconds_left -= time.monotonic() - started
        return text, True


def text_of(result):
    """A result as `execute_multi_turn_func_call` words it."""
    if type(result) is str:
        return result
    if type(result) is dict:
        try:
            return json.dumps(result)
        except Exception:  # Some functions return objects.
            return str(result)
    return str(result)


def refusal_of(named):
    """Why these arguments are not passed on, or None."""
    for key, value in named.items():
        if not key.isidentifier():
            return f"{json.dumps(key[:NAME_CHARACTERS])} is no name of an argument"
        if key == "precision" and isinstance(value, (int, float)) and value > PRECISION_LIMIT:
            return f"precision is {PRECISION_LIMIT} at most"
    # Written as Python, as the package does, such a number is a name.
    return "name 'inf' is not defined" if has_infinity(named) else None


def has_infinity(value):
    if isinstance(value, float):
        return math.isinf(value)
    if isinstance(value, dict):
        return any(map(has_infinity, value.values()))
    return isinstance(value, list) and any(map(has_infinity, value))


class time_limit:
    """Raises OutOfTime in the block after some seconds, where the system can."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __enter__(self):
        if self.seconds <= 0:
            raise OutOfTime
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, self.seconds)

    def __exit__(self, *_):
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)


def out_of_time(*_):
    raise OutOfTime


def limit_resources():
    if hasattr(signal, "SIGALRM"):
        signal.signal(signal.SIGALRM, out_of_time)
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    except (ImportError, OSError, ValueError):
        pass  # Not every system has the limit; the time limits hold anyway.
