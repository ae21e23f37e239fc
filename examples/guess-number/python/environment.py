"""Guess my number, in Python: every guess is answered by higher, lower or right."""

import random

from perdure_env import call, calls, seed_of, serve, tool

guess = tool("guess", "Guesses a number.", number={"type": "integer"})
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
        if name == "guess" and isinstance((arguments or {}).get("number"), int):
            reply = answer(arguments["number"], goal)
            return reply, int(reply == "right"), reply == "right"
    reply = {"role": "user", "content": "Call guess with a whole number."}
    return {"messages": [reply], "reward": 0, "done": False, "invalid": True}


def demonstrate(instance):
    """Bisection as a beginner plays it: it finds any number, but says many guesses twice."""
    hesitates = random.Random(seed_of(f"{instance} expert"))
    low, high, actions = 1, 20, []
    while True:
        number = (low + high) // 2
        reply = answer(number, goal_of(instance))
        twice = reply != "right" and hesitates.random() < 0.6
        actions += [call("guess", number=number)] * (2 if twice else 1)
        if reply == "right":
            return actions
        low, high = (number + 1, high) if reply == "higher" else (low, number - 1)


if __name__ == "__main__":
    serve(reset, step, splits={"train": None, "test": None}, tools=[guess], demonstrate=demonstrate)
