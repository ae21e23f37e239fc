"""The same agent with OpenAI's package (pip install openai)."""

import json
import os

from openai import OpenAI

client = OpenAI()  # OPENAI_BASE_URL and OPENAI_API_KEY are those of its episode


def say(messages):
    answer = client.chat.completions.create(model="policy", messages=messages)
    return answer.choices[0].message.model_dump(include={"role", "content"})


with open(os.environ["PERDURE_TASK_FILE"]) as file:
    task = json.load(file)
messages = [{"role": "user", "content": task["prompt"]}]
messages.append(say(messages))
messages.append({"role": "user", "content": "More small letters, please."})
print(say(messages)["content"])
