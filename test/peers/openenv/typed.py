"""Guess a number: an OpenEnv server with typed actions. `python3 typed.py PORT PLACES`"""

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

    def reset(self, seed=None, episode_id=None, top=20, **_):
        self.number = random.Random(seed).randint(1, top)
        return Said(text=f"Guess my number from 1 to {top}.")

    def step(self, action, **_):
        if action.number == 666:
            raise RuntimeError("not this one")
        if action.number == self.number:
            return Said(text="right", reward=1.0, done=True)
        return Said(text="higher" if action.number < self.number else "lower", reward=0.0)

    @property
    def state(self):
        return State(step_count=0)


port, places = map(int, sys.argv[1:])
app = create_app(Game, Guess, Said, env_name="guess", max_concurrent_envs=places)
uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning")
