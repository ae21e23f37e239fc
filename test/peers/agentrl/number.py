"""A task for agentrl-worker 0.4.0: the number to guess is the index."""

import json

from agentrl.worker.task import Task
from agentrl.worker.typings import RewardHistoryItem, SampleStatus, TaskSampleExecutionResult

GUESS = {
    "type": "function",
    "function": {
        "name": "guess",
        "description": "Guesses.",
        "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
    },
}


class Number(Task):
    def __init__(self, **settings):
        super().__init__(tools=[GUESS], **settings)
        self.full_async = True

    def get_indices(self):
        return list(range(10))

    async def start_sample(self, index, session):
        session.inject({"role": "user", "content": "Guess a number from 0 to 9."})
        for _ in range(5):
            answer = await session.action()
            calls = [call for message in answer.messages for call in message.get("tool_calls") or []]
            if not calls:
                session.inject({"role": "user", "content": "Call guess."})
            for call in calls:
                right = json.loads(call["function"]["arguments"])["n"] == index
                said = {"role": "tool", "tool_call_id": call["id"], "content": "right" if right else "wrong"}
                session.inject(said)
                session.inject(RewardHistoryItem(reward=int(right), score=int(right)))
                if right:
                    return TaskSampleExecutionResult(status=SampleStatus.COMPLETED)
        return TaskSampleExecutionResult(status=SampleStatus.TASK_LIMIT_REACHED)
