"""Plays games in TextWorld, wrapped as ALFWorld wraps it, and measures it.

Standard input: a JSON list of {"domain", "grammar", "problem", "actions"}.
Standard output, last line: {"states": [[[observation, admissible, won], ...], ...], "steps", "seconds", "startSeconds"}.
Only steps count as seconds: loading and starting a game is measured apart.
"""

import json
import os
import sys
import tempfile
import time

import textworld
from alfworld.agents.environment.alfred_tw_env import AlfredDemangler
from textworld.envs import PddlEnv


def main():
    games = json.load(sys.stdin)
    env = AlfredDemangler(PddlEnv(textworld.EnvInfos(won=True, admissible_commands=True)), shuffle=False)
    result = {"states": [], "steps": 0, "seconds": 0.0, "startSeconds": 0.0}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "game.tw-pddl")
        for game in games:
            data = {"pddl_domain": game["domain"], "grammar": game["grammar"], "pddl_problem": game["problem"]}
            with open(path, "w", encoding="utf-8") as file:
                json.dump(data, file)
            started = time.perf_counter()
            env.load(path)
            state = env.reset()
            result["startSeconds"] += time.perf_counter() - started
            states = [state]
            started = time.perf_counter()
            for action in game["actions"]:
                state, _, _ = env.step(action)
                states.append(state)
            result["seconds"] += time.perf_counter() - started
            result["steps"] += len(game["actions"])
            result["states"].append([[s.feedback, s["admissible_commands"], s["won"]] for s in states])
    print(json.dumps(result))


main()
