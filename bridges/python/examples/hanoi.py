"""A game of TextArena for one player: `pip install textarena`. The setting `game` names another one."""

import textarena

from perdure_env import seed_of, serve, text

name, game, read = "TowerOfHanoi-v0", None, ""


def setup(settings, data):
    global name
    name = settings.get("game", name)
    return {"train": None, "test": None}


def news():
    """The text since the last turn: observations repeat all that was said before."""
    global read
    before, read = read, game.get_observation()[1]
    return read[len(before) :].strip() if read.startswith(before) else read


def reset(instance):
    global game, read
    game, read = textarena.make(name), ""
    game.reset(num_players=1, seed=seed_of(instance))
    return news()


def step(action):
    done, _ = game.step(text(action))
    if not done:
        return news(), 0, False
    rewards, _ = game.close()
    return "The game is over.", (rewards or {}).get(0, 0), True


if __name__ == "__main__":
    serve(reset, step, setup=setup)
