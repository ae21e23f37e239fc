"""TextArena's GuessTheNumber-v0, with a beginner who demonstrates it: `pip install textarena`."""

import random

import textarena

from perdure_env import seed_of, serve, text

game, read = None, ""


def opened(instance):
    """A game, and its first words; TextArena draws the number from the process's own random numbers."""
    random.seed(seed_of(instance))
    new = textarena.make("GuessTheNumber-v0")
    new.reset(num_players=1)
    return new, new.get_observation()[1]


def reset(instance):
    global game, read
    game, read = opened(instance)
    return read.strip()


def step(action):
    global read
    done, _ = game.step(text(action))
    if done:
        rewards, _ = game.close()
        return "The game is over.", int((rewards or {}).get(0) == 1), True
    before, read = read, game.get_observation()[1]
    news = read[len(before) :] if read.startswith(before) else read
    return news.removeprefix(f"\n[Player] {text(action)}").strip(), 0, False


def demonstrate(instance):
    """Mostly counts up or down by one from its last guess, sometimes halves the range; nothing where that loses."""
    played, _ = opened(instance)
    chance = random.Random(seed_of(instance + " beginner"))
    low, high, last, actions = 1, 20, 0, []
    for _ in range(10):
        small = last + 1 if last < low else last - 1
        number = small if chance.random() < 0.65 else (low + high) // 2
        actions.append(f"[{number}]")
        done, _ = played.step(actions[-1])
        if done:
            rewards, _ = played.close()
            return actions if (rewards or {}).get(0) == 1 else None
        higher = "higher" in played.get_observation()[1].rsplit("is ", 1)[1]
        low, high, last = (number + 1, high, number) if higher else (low, number - 1, number)
    return None


if __name__ == "__main__":
    serve(reset, step, splits={"train": None, "test": None}, demonstrate=demonstrate)
