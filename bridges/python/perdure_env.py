"""
Serves an environment to Perdure: JSON Lines on standard input and output. One file without dependencies, for Python 3.9 and newer.

    from perdure_env import serve

    def reset(instance):                 # "train/7"
        return "Guess my number from 1 to 20."

    def step(action):                    # {"role": "assistant", "content": "…", "tool_calls": […]}
        return "higher", 0, False        # reply, reward, done

    serve(reset, step, splits={"train": None, "test": 100})

- `splits` names how many instances each split has; `None` is without end. `setup(settings, data)` is called once before the first
  episode and may return the splits instead.
- `reset` returns the first message as a text, or a dict with `messages`, `tools`, `info` and `state`; `step` returns
  `(reply, reward, done)`, or a dict with `messages`, `reward`, `done`, `outcome`, `invalid`, `info`, `state` and `tools`.
- `demonstrate(instance)` returns the actions of an expert, each a text or `call(…)`, or `None` where it has none.
- A call that the agent gets wrong is answered by a message. An exception is a failure of the environment: its episode is played
  again and never rewarded. Raise `Fault(kind, message)` to name the kind.
- Text that the environment prints goes to standard error: standard output belongs to the protocol.

SPDX-License-Identifier: Apache-2.0
"""

import hashlib
import json
import os
import sys
import traceback

__version__ = "0.1.0"
__all__ = ["Fault", "call", "calls", "seed_of", "serve", "text", "tool"]


class Fault(Exception):
    """A failure of the environment, by kind: unknown_instance, unknown_split, bad_data, bad_settings, session_lost or backend."""

    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind


def seed_of(instance):
    """A number from 0 to 2**32 - 1 that depends on the instance's name alone, to draw everything random of an episode from."""
    return int.from_bytes(hashlib.sha256(instance.encode()).digest()[:4], "big")


def tool(name, description, **parameters):
    """
    A tool that the agent may call; each parameter is required, and is a JSON schema or a description of a text.

        tool("guess", "Guesses a number.", number={"type": "integer"})
    """
    properties = {
        key: given if isinstance(given, dict) else {"type": "string", "description": given}
        for key, given in parameters.items()
    }
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


def calls(action):
    """The tool calls of an action as (name, arguments); the arguments are None where they are no JSON object."""
    return [(call.get("name"), _arguments(call)) for call in action.get("tool_calls") or [] if isinstance(call, dict)]


def _arguments(call):
    try:
        given = json.loads(call.get("arguments") or "{}")
    except (TypeError, ValueError):
        return None
    return given if isinstance(given, dict) else None


def text(action):
    """The words of the agent."""
    return action.get("content") or ""


def serve(reset, step, splits=None, tools=(), setup=None, close=None, demonstrate=None):
    """Answers Perdure until it ends standard input."""
    answers = _claimed_output()
    offered = list(tools)
    known = {}

    def opened(params):
        found = setup(params.get("settings") or {}, params.get("dataDir")) if setup else None
        sizes = found if found is not None else splits
        if not sizes:
            raise Fault("bad_settings", "the environment names no splits: give `splits` to serve()")
        known.update(sizes)
        named = [{"name": name, "size": size} for name, size in sizes.items()]
        return {"splits": named, "demonstrates": demonstrate is not None}

    def begun(params):
        _check(params["instance"], known)
        given = reset(params["instance"])
        first = given if isinstance(given, dict) else {"messages": [{"role": "user", "content": str(given)}]}
        return {"tools": offered, **first}

    def played(params):
        action = params["action"]
        given = step(action)
        if isinstance(given, dict):
            return given
        reply, reward, done = given
        return {"messages": _replies(action, reply), "reward": float(reward), "done": bool(done)}

    def demonstrated(params):
        actions = demonstrate(params["instance"]) if demonstrate else None
        return {"actions": None if actions is None else [_action(each) for each in actions]}

    def closed(_):
        if close:
            close()
        return {}

    methods = {"open": opened, "reset": begun, "step": played, "demonstrate": demonstrated, "close": closed}
    for line in sys.stdin.buffer:
        request = json.loads(line)
        answer = {"id": request["id"]}
        try:
            answer["result"] = methods[request["method"]](request.get("params") or {})
            written = json.dumps(answer, allow_nan=False)
        except Exception as fault:  # the environment's code may raise anything, and each answer names it
            traceback.print_exc()
            kind = fault.kind if isinstance(fault, Fault) else "backend"
            message = str(fault) or type(fault).__name__
            written = json.dumps({"id": request["id"], "error": {"kind": kind, "message": message}})
        answers.write(written.encode() + b"\n")
        answers.flush()


def _check(instance, known):
    split, _, index = instance.rpartition("/")
    size = known.get(split, 0)
    if not known or index.isascii() and index.isdigit() and (size is None or int(index) < size):
        return
    raise Fault("unknown_instance", f"there is no instance {instance[:80]!r}: use SPLIT/INDEX of {', '.join(known)}")


def _claimed_output():
    """Standard output for answers alone; everything else that is written there goes to standard error from now on."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return answers


def _replies(action, reply):
    """The reply to each call, so that none stays unanswered."""
    names = [call.get("name") for call in action.get("tool_calls") or [] if isinstance(call, dict)]
    named = [name for name in names if name]
    if not named:
        return [{"role": "user", "content": str(reply)}]
    return [{"role": "tool", "name": name, "content": str(reply)} for name in named]


def call(name, **arguments):
    """An action that calls a tool, for `demonstrate`."""
    return {"role": "assistant", "content": "", "tool_calls": [{"name": name, "arguments": json.dumps(arguments)}]}


def _action(given):
    return given if isinstance(given, dict) else {"role": "assistant", "content": str(given)}
