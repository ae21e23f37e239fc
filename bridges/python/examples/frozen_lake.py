"""Gymnasium's FrozenLake in words: `pip install gymnasium`. Any environment with a discrete action fits the same way."""

import gymnasium

from perdure_env import calls, seed_of, serve, tool
from gymnasium.envs.toy_text.frozen_lake import generate_random_map

moves = ["left", "down", "right", "up"]
move = tool("move", "Walks one field.", direction={"type": "string", "enum": moves})
lake, fields = None, []


def seen(position):
    row, column = divmod(int(position), len(fields))
    rows = [text[:column] + "*" + text[column + 1 :] if at == row else text for at, text in enumerate(fields)]
    return "\n".join(rows)


def reset(instance):
    global lake, fields
    fields = generate_random_map(size=4, seed=seed_of(instance))
    lake = gymnasium.make("FrozenLake-v1", desc=fields, is_slippery=False)
    position, _ = lake.reset(seed=seed_of(instance))
    return f"Walk over the ice (F) to the goal (G); a hole (H) ends the game. You are at *.\n{seen(position)}"


def step(action):
    direction = next((given.get("direction") for name, given in calls(action) if name == "move" and given), None)
    if direction not in moves:
        return {"messages": [{"role": "user", "content": "Call move with a direction."}], "reward": 0, "done": False, "invalid": True}
    position, reward, terminated, truncated, _ = lake.step(moves.index(direction))
    return seen(position), reward, bool(terminated or truncated)


if __name__ == "__main__":
    serve(reset, step, splits={"train": None, "test": None}, tools=[move])
