"""A taskset of verifiers with the task of one episode: its prompt is that of PERDURE_TASK_FILE."""

import json
import os
import re

import verifiers.v1 as vf


class LettersTask(vf.Task[vf.TaskData]):
    @vf.reward(weight=1.0)
    async def small_letters(self, trace: vf.Trace) -> float:
        words = trace.last_reply or ""
        return len(re.findall("[a-z]", words)) / max(8, len(words))


class LettersTaskset(vf.Taskset[LettersTask, vf.TasksetConfig]):
    def load(self):
        with open(os.environ["PERDURE_TASK_FILE"]) as file:
            prompt = json.load(file)["prompt"]
        return [LettersTask(vf.TaskData(idx=0, prompt=prompt), self.config.task)]


__all__ = ["LettersTaskset"]
