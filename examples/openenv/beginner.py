"""The game of server.py with a beginner who demonstrates it: it halves the range, but says most numbers twice."""

import random

from perdure_env import call, calls, seed_of, serve

act = {
    "type": "function",
    "function": {
        "name": "act",
        "description": "Guesses the number.",
        "parameters": {
            "additionalProperties": False,
            "type": "object",
            "properties": {"number": {"title": "Number", "type": "integer"}},
            "required": ["number"],
        },
    },
}
goal = 0


def goal_of(instance):
    return random.Random(seed_of(instance)).randint(1, 20)


def answer(number, goal):
    return "right" if number == goal else "higher" if number < goal else "lower"


def reset(instance):
    global goal
    goal = goal_of(instance)
    return "Guess my number from 1 to 20."


def step(action):
    for name, arguments in calls(action):
        if name == "act" and isinstance((arguments or {}).get("number"), int):
            reply = answer(arguments["number"], goal)
            return reply, int(reply == "right"), reply == "right"
    return "Call act with a whole number.", 0, False


def demonstrate(instance):
    hesitates = random.Random(seed_of(f"{instance} beginner"))
    low, high, actions = 1, 20, []
    while True:
        number = (low + high) // 2
        reply = answer(number, goal_of(instance))
        twice = reply != "right" and hesitates.random() < 0.6
        actions += [call("act", number=number)] * (2 if twice else 1)
        if reply == "right":
            return actions
        low, high = (number + 1, high) if reply == "higher" else (low, number - 1)


if __name__ == "__main__":
    serve(reset, step, splits={"train": None, "test": None}, tools=[act], demonstrate=demonstrate)
