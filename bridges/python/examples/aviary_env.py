"""An environment of aviary with its own tools: `pip install fhaviary`. Put yours in the place of DummyEnv."""

import asyncio

from aviary.core import DummyEnv, Message, ToolCall, ToolRequestMessage

from perdure_env import calls, seed_of, serve

loop = asyncio.new_event_loop()
topics = ["rain", "bread", "trains", "owls"]
environment = None


def shown(messages):
    """Its messages in the form of an agent's."""
    return [
        {"role": "tool", "name": message.name, "content": message.content or ""}
        if message.role == "tool"
        else {"role": "user", "content": message.content or ""}
        for message in messages
    ]


def reset(instance):
    global environment
    environment = DummyEnv(task=topics[seed_of(instance) % len(topics)])
    messages, tools = loop.run_until_complete(environment.reset())
    return {"messages": shown(messages), "tools": [offered(tool) for tool in tools]}


def offered(tool):
    described = tool.info.model_dump(mode="json", exclude_none=True)
    return {"type": "function", "function": {"parameters": {"type": "object", "properties": {}}, **described}}


def step(action):
    named = [(name, given) for name, given in calls(action) if name and given is not None]
    request = (
        ToolRequestMessage(tool_calls=[ToolCall.from_name(name, **given) for name, given in named])
        if named
        else Message(role="assistant", content=action.get("content") or "")
    )
    messages, reward, done, truncated = loop.run_until_complete(environment.step(request))
    return {"messages": shown(messages), "reward": reward, "done": bool(done or truncated)}


if __name__ == "__main__":
    serve(reset, step, splits={"train": None, "test": None})
