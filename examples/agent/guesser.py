"""An agent that plays a game of its own by calls of a function, and says itself what it has earned. It needs no package."""

import json
import os
import random
import urllib.request

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


def say(messages):
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        json.dumps({"model": "policy", "messages": messages, "tools": [act]}).encode(),
        {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "content-type": "application/json"},
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["choices"][0]["message"]


def guessed(call):
    try:
        return int(json.loads(call["function"]["arguments"])["number"])
    except (ValueError, KeyError, TypeError):
        return None


goal = random.Random(os.environ["PERDURE_INSTANCE"]).randint(1, 20)
with open(os.environ["PERDURE_TASK_FILE"]) as file:
    messages = [{"role": "user", "content": json.load(file)["prompt"]}]
reward = 0
for _ in range(5):
    message = say(messages)
    calls = message.get("tool_calls") or []
    number = guessed(calls[0]) if calls else None
    if number is None or number == goal:
        reward = int(number == goal)
        break
    reply = "higher" if number < goal else "lower"
    messages += [message, {"role": "tool", "tool_call_id": calls[0]["id"], "content": reply}]
with open(os.environ["PERDURE_RESULT_FILE"], "w") as file:
    print(json.dumps({"reward": reward}), file=file)
