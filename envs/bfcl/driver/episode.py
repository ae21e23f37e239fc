"""
One instance being played: turns of the user, each answered by calls until a message has none.

Invariants
- The reward is what the official `multi_turn_checker` says of the recorded calls, played afresh.
- Arguments that cannot be read are answered by a text, and never evaluated.
"""

import ast
import json

from fault import Fault
from simulation import NAME_CHARACTERS, Simulation
from tools import tool_of

ARGUMENT_CHARACTERS = 65_536
RESULT_CHARACTERS = 200_000  # the longest text of all ground truths has 31,706
STEP_LIMIT = 20  # MAXIMUM_STEP_LIMIT of the package: a turn ends the episode after more messages with calls

# DEFAULT_USER_PROMPT_FOR_ADDITIONAL_FUNCTION_FC of the package, whose module needs more than is installed.
MORE_FUNCTIONS = "I have updated some more functions you can choose from. What about now?"
PYTHON_HINT = " Note that the provided function is in Python 3 syntax."
OVER = "The conversation is over."


class Episode:
    """The conversation and the calls so far, and the next turn."""

    def __init__(self, data, settings, instance):
        self.entry, self.category, self.answers = data.entry(instance)
        if self.answers is None:
            raise Fault("bad_data", f"bfcl data: {instance} has no answer")
        self.settings = settings
        self.simulation = self.new_simulation()
        documents = [
            {**document, "hint": PYTHON_HINT}
            for class_name in self.entry["involved_classes"]
            for document in data.documents_of(class_name)
        ]
        self.held_back = {}
        for turn, names in self.entry.get("missed_function", {}).items():
            for name in names:
                at = next((i for i, document in enumerate(documents) if document["name"] == name), None)
                if at is not None:
                    self.held_back.setdefault(turn, []).append({**documents.pop(at), "hint": ""})
        self.documents = documents
        self.turn = 0
        self.messages_with_calls = 0
        self.record = [[]]
        self.ending = None

    def new_simulation(self):
        return Simulation(self.entry.get("initial_config", {}), self.entry["involved_classes"], "long_context" in self.category)

    def tools(self):
        return [tool_of(document, self.settings["tools"] == "short") for document in self.documents]

    def info(self):
        return {"turn": self.turn, "turns": len(self.entry["question"])}

    def begin(self):
        system = self.settings["system"]
        first = [{"role": "system", "content": system}] if system else []
        return {"messages": first + self.question(), "tools": self.tools(), "info": self.info()}

    def question(self):
        """The user's message of this turn; adds the functions that were held back until now."""
        added = self.held_back.get(str(self.turn))
        if added is not None:
            self.documents += added
            return [{"role": "user", "content": MORE_FUNCTIONS}]
        return [{"role": m["role"], "content": m["content"]} for m in self.entry["question"][self.turn]]

    def step(self, action):
        calls = action.get("tool_calls") if isinstance(action, dict) else None
        calls = calls if isinstance(calls, list) else []
        if self.ending is not None:
            messages = [tool_message(call, OVER) for call in calls] or [{"role": "user", "content": OVER}]
            return {**self.ending, "messages": messages, "reward": 0}
        return self.play(calls) if calls else self.next_turn()

    def play(self, calls):
        messages, played = [], []
        usable = False
        for call in calls:
            name, given, problem = read_call(call)
            if problem is None:
                problem, known = self.simulation.call(name, (), given)
                usable = usable or known
                played.append((name, (), given))
            messages.append(tool_message(call, shortened(problem)))
        if played:
            self.record[-1].append(played)
        self.messages_with_calls += 1
        result = {"messages": messages, "reward": 0, "done": False, "info": self.info()}
        if self.settings["limited"] and self.messages_with_calls > STEP_LIMIT:
            self.ending = result = {**result, "done": True, "outcome": "task_limit"}
        return result if usable else {**result, "invalid": True}

    def next_turn(self):
        self.turn += 1
        self.messages_with_calls = 0
        if self.turn < len(self.entry["question"]):
            self.record.append([])
            messages = self.question()
            return {"messages": messages, "reward": 0, "done": False, "info": self.info(), "tools": self.tools()}
        verdict = self.grade()
        facts = {key: verdict[key] for key in ("valid", "error_type", "error_message") if key in verdict}
        self.ending = {"done": True, "outcome": "completed", "info": {**self.info(), **facts}}
        message = {"role": "user", "content": OVER}
        return {**self.ending, "messages": [message], "reward": 1 if verdict["valid"] else 0}

    def grade(self):
        """The verdict of the official checker."""
        from bfcl_eval.eval_checker.multi_turn_eval import multi_turn_checker as official

        if len(self.record) != len(self.answers):
            message = f"{len(self.record)} turns were played, but the answer has {len(self.answers)}"
            return {"valid": False, "error_type": "multi_turn:force_terminated", "error_message": message}
        answers = [[parsed_call(text) for text in turn] for turn in self.answers]
        simulations = {}

        def execute(func_call_list, initial_config, involved_classes, model_name, *_, **__):
            if model_name not in simulations:
                simulations[model_name] = self.new_simulation()
            simulation = simulations[model_name]
            return [simulation.call(*call)[0] for call in func_call_list], simulation.instances

        # The package's own function of this name evaluates texts.
        official.execute_multi_turn_func_call = execute
        try:
            return official.multi_turn_checker(self.record, answers, self.entry, self.category, "agent")
        except Exception as error:  # e.g. folders nested deeper than Python compares
            return {"valid": False, "error_type": "multi_turn:not_comparable", "error_message": str(error)}


def read_call(call):
    """Name and arguments of a call, or what is wrong with it."""
    name = call.get("name") if isinstance(call, dict) else None
    if not isinstance(name, str) or name == "":
        return None, None, "Error: a call needs the name of a function."
    text = call.get("arguments")
    if not isinstance(text, str) or len(text) > ARGUMENT_CHARACTERS:
        return None, None, f"Error: the arguments of a call are {ARGUMENT_CHARACTERS} characters of JSON at most."
    try:
        given = json.loads(text)
    except (RecursionError, ValueError) as error:
        return None, None, f"Error: the arguments cannot be read: {error}"
    if not isinstance(given, dict):
        return None, None, "Error: the arguments of a call are a JSON object."
    return name, given, None


def parsed_call(text):
    """A call of an answer, written as Python: its name and its arguments, which must be literals."""
    try:
        call = ast.parse(text, mode="eval").body
        positional = [ast.literal_eval(value) for value in call.args]
        return call.func.id, positional, {item.arg: ast.literal_eval(item.value) for item in call.keywords}
    except (AttributeError, SyntaxError, TypeError, ValueError) as error:
        raise Fault("bad_data", f"bfcl data: the answer {text[:200]!r} is no plain call") from error


def tool_message(call, content):
    name = call.get("name") if isinstance(call, dict) else None
    name = name[:NAME_CHARACTERS] if isinstance(name, str) and name else "unknown"
    return {"role": "tool", "name": name, "content": content}


def shortened(text):
    if len(text) <= RESULT_CHARACTERS:
        return text
    return f"{text[:RESULT_CHARACTERS]}… ({len(text) - RESULT_CHARACTERS} characters more)"
