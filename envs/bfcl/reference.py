"""
Plays of BFCL by the package's own `execute_multi_turn_func_call` and `multi_turn_checker`, for tests.

Usage: reference.py SITE DATA EVERY. For every EVERY-th instance of each category it writes a JSON object a
line for each of these plays: the answer, the answer less its last call, the answer with a number changed, and
calls that no well-meaning agent makes.

  {"play", "line": a line for `env replay`, "texts": what the calls are answered, "valid": the verdict}
"""

import ast
import copy
import glob
import importlib
import inspect
import json
import os
import sys

ODD = [
    ("no_such_function", {"a": 1}),
    ("_load_scenario", {"scenario": {}}),
    ("__class__", {}),
    ("kill", {}),
    ("os.system", {"command": "true"}),
    ("ls", {"a": None}),
    ("cd", {}),
    ("cd", {"folder": 5}),
    ("cd", {"folder": "..", "extra": [1.0, {"x": None}]}),
    ("cd", {"folder": {"a": 86.0}}),
    ("touch", {"file_name": "é🫖\u2028\\n'\"\n"}),
    ("echo", {"content": 86.0, "file_name": "numbers"}),
    ("echo", {"content": "1" * 5000}),
    ("add", {"a": 86.0, "b": 2}),
    ("add", {"a": 12345678901234567890, "b": 1e22}),
    ("add", {"a": 1e400, "b": 1}),
    ("power", {"base": 10.0, "exponent": 3}),
    ("power", {"base": 10, "exponent": 5000}),
    ("mean", {"numbers": [1, 2.50, "3"]}),
    ("square_root", {"number": 2, "precision": 30}),
    ("logarithm", {"value": -0.0, "base": 10, "precision": 5}),
    ("fillFuelTank", {"fuelAmount": 10.0}),
    ("adjustClimateControl", {"temperature": 21.0, "unit": "celsius", "fanSpeed": 50, "mode": "auto"}),
    ("post_tweet", {"content": "a", "tags": ["#1"], "mentions": [{"b": [2.0]}]}),
    ("get_stock_info", {"symbol": True}),
    ("place_order", {"order_type": "Buy", "symbol": "AAPL", "price": 227.0, "amount": 1e2}),
    ("create_ticket", {"title": None, "priority": 2.0}),
    ("send_message", {"receiver_id": "USR002", "message": ["hi"]}),
]


def main(site, folder, every):
    sys.path.insert(0, site)
    answers, sys.stdout = sys.stdout, sys.stderr
    for file in sorted(glob.glob(os.path.join(folder, "BFCL_v*_multi_turn_*.json"))):
        questions = read(file)
        solutions = {row["id"]: row["ground_truth"] for row in read(os.path.join(folder, "possible_answer", os.path.basename(file)))}
        for entry in questions[:: int(every)]:
            for play, turns in plays(entry, solutions[entry["id"]]):
                json.dump(reference(entry, solutions[entry["id"]], play, turns), answers)
                answers.write("\n")


def read(file):
    with open(file, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def plays(entry, solution):
    """Names of plays with their calls, turn by turn; each call a name and arguments by name."""
    gold = [[call_of(text, entry["involved_classes"]) for text in turn] for turn in solution]
    yield "answer", gold
    last = max(index for index, turn in enumerate(gold) if turn)
    yield "less a call", [turn[:-1] if index == last else turn for index, turn in enumerate(gold)]
    changed = with_number_changed(gold)
    if changed is not None:
        yield "other number", changed
    yield "odd calls", [ODD, *gold[1:]]


def call_of(text, class_names):
    call = ast.parse(text, mode="eval").body
    names = []
    for class_name in class_names:
        method = getattr(class_of(class_name), call.func.id, None)
        if method is not None:
            names = list(inspect.signature(method).parameters)[1:]
    named = dict(zip(names, map(ast.literal_eval, call.args), strict=False))
    return call.func.id, {**named, **{item.arg: ast.literal_eval(item.value) for item in call.keywords}}


def class_of(class_name):
    from bfcl_eval.constants.executable_backend_config import CLASS_FILE_PATH_MAPPING

    return getattr(importlib.import_module(CLASS_FILE_PATH_MAPPING[class_name]), class_name)


def with_number_changed(turns):
    turns = copy.deepcopy(turns)
    for turn in turns:
        for _, named in turn:
            for key, value in named.items():
                if type(value) in (int, float):
                    named[key] = value + 1
                    return turns
    return None


def reference(entry, solution, play, turns):
    from bfcl_eval.eval_checker.multi_turn_eval import multi_turn_checker as checker
    from bfcl_eval.eval_checker.multi_turn_eval.multi_turn_utils import execute_multi_turn_func_call as execute

    actions = []
    for calls in turns:
        if calls:
            actions.append({"tool_calls": [{"name": name, "arguments": named} for name, named in calls]})
        actions.append({"content": "Done."})
    line = json.dumps({"instance": entry["id"], "actions": actions}).replace("Infinity", "1e400")
    # As `convert_to_function_call` of the package writes calls.
    written = [
        [f"{name}({','.join(f'{key}={value!r}' for key, value in named.items())})" for name, named in calls]
        for calls in turns
    ]
    model = play.replace(" ", "_")
    long_context = "long_context" in entry["id"]
    texts = [
        text
        for calls in written[: len(entry["question"])]
        for text in execute(calls, entry["initial_config"], entry["involved_classes"], model, entry["id"], long_context)[0]
    ]
    valid = len(entry["question"]) == len(solution) and checker.multi_turn_checker(
        [[calls] if calls else [] for calls in written], solution, entry, entry["id"].rsplit("_", 1)[0], model
    )["valid"]
    return {"play": play, "line": line, "texts": texts, "valid": valid}


if __name__ == "__main__":
    main(*sys.argv[1:])
