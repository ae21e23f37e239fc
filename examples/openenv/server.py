"""Guess my number, as an OpenEnv server: `pip install openenv`, then `python3 server.py PORT`."""

import random
import sys

import uvicorn
from openenv.core.env_server import Action, Environment, Observation, State, create_app


class Guess(Action):
    """Guesses the number."""

    number: int


class Said(Observation):
    text: str = ""


class Game(Environment):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def reset(self, seed=None, episode_id=None, **_):
        self.number = random.Random(seed).randint(1, 20)
        return Said(text="Guess my number from 1 to 20.")

    def step(self, action, **_):
        if action.number == self.number:
            return Said(text="right", reward=1.0, done=True)
        return Said(text="higher" if action.number < self.number else "lower", reward=0.0)

    @property
    def state(self):
        return State(step_count=0)


app = create_app(Game, Guess, Said, env_name="guess", max_concurrent_envs=128)
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
