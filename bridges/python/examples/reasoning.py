"""A data set of reasoning-gym, one turn an episode: `pip install reasoning-gym`. The setting `dataset` names another one."""

import reasoning_gym

from perdure_env import seed_of, serve, text

name, entry, problems = "basic_arithmetic", None, None


def setup(settings, data):
    global name
    name = settings.get("dataset", name)
    return {"train": None, "test": None}


def reset(instance):
    global entry, problems
    problems = reasoning_gym.create_dataset(name, size=1, seed=seed_of(instance))
    entry = problems[0]
    return entry["question"]


def step(action):
    return "Thank you.", problems.score_answer(text(action).strip(), entry), True


def demonstrate(instance):
    reset(instance)
    return [entry["answer"]]


if __name__ == "__main__":
    serve(reset, step, setup=setup, demonstrate=demonstrate)
