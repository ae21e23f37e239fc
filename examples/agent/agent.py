"""An agent that needs no package: it drafts an answer, then asks for a better one, which is graded.

It keeps nothing between its starts: one that is killed repeats its requests, and continues.
"""

import json
import os
import urllib.request


def say(messages):
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        json.dumps({"model": "policy", "messages": messages}).encode(),
        {
            "authorization": "Bearer " + os.environ["OPENAI_API_KEY"],
            "content-type": "application/json",
        },
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["choices"][0]["message"]


with open(os.environ["PERDURE_TASK_FILE"]) as file:
    task = json.load(file)
messages = [{"role": "user", "content": task["prompt"]}]
messages.append(say(messages))
messages.append({"role": "user", "content": "More small letters, please."})
print(say(messages)["content"])
