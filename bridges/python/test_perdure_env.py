"""Tests of perdure_env: `python3 -m unittest discover bridges/python`. SPDX-License-Identifier: Apache-2.0"""

import json
import subprocess
import sys
import textwrap
import unittest
from pathlib import Path

import perdure_env


class Served:
    """An environment in a process of its own, asked line by line."""

    def __init__(self, program):
        self.process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(program)],
            cwd=Path(__file__).parent,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.last = 0

    def ask(self, method, **params):
        self.last += 1
        self.process.stdin.write(json.dumps({"id": self.last, "method": method, "params": params}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert answer.pop("id") == self.last
        return answer

    def end(self):
        _, errors = self.process.communicate()
        return self.process.returncode, errors


ECHO = """
    import perdure_env
    from perdure_env import Fault, call, serve, tool

    def reset(instance):
        print("begun")
        if instance == "train/404":
            raise Fault("unknown_instance", "no such place")
        return instance if instance != "train/9" else {"messages": [], "info": {"at": 9}, "state": "nine", "tools": []}

    def step(action):
        text = perdure_env.text(action)
        if text == "odd":
            return {"messages": [], "reward": float("nan"), "done": False}
        if text == "broken":
            raise ZeroDivisionError
        return text.upper(), len(perdure_env.calls(action)), text == "end"

    serve(reset, step, splits={"train": None, "test": 3}, tools=[tool("say", "Says.", words="The words.")],
          demonstrate=lambda instance: None if instance == "train/0" else ["end", call("say", words="x")])
"""


class Serving(unittest.TestCase):
    def setUp(self):
        self.served = Served(ECHO)

    def tearDown(self):
        self.served.end()

    def test_splits_messages_tools_rewards_and_endings_are_those_of_the_functions(self):
        ask = self.served.ask
        splits = [{"name": "train", "size": None}, {"name": "test", "size": 3}]
        self.assertEqual(ask("open", settings={}), {"result": {"splits": splits, "demonstrates": True}})
        begun = ask("reset", instance="test/1")["result"]
        self.assertEqual(begun["messages"], [{"role": "user", "content": "test/1"}])
        self.assertEqual([each["function"]["name"] for each in begun["tools"]], ["say"])
        self.assertEqual(
            ask("step", action={"role": "assistant", "content": "end"}),
            {"result": {"messages": [{"role": "user", "content": "END"}], "reward": 0.0, "done": True}},
        )
        whole = {"messages": [], "info": {"at": 9}, "state": "nine", "tools": []}
        self.assertEqual(ask("reset", instance="train/9"), {"result": whole})
        self.assertEqual(ask("close"), {"result": {}})

    def test_each_call_is_answered(self):
        calls = [{"name": "say", "arguments": '{"words": "a"}'}, None, {"name": "say", "arguments": "{"}]
        answer = self.served.ask("step", action={"role": "assistant", "content": "a", "tool_calls": calls})
        said = {"role": "tool", "name": "say", "content": "A"}
        self.assertEqual(answer, {"result": {"messages": [said, said], "reward": 2.0, "done": False}})

    def test_an_instance_that_no_split_has_is_refused(self):
        self.served.ask("open")
        for instance in ("", "nowhere", "train/-1", "test/3", "test/²"):
            self.assertEqual(self.served.ask("reset", instance=instance)["error"]["kind"], "unknown_instance")
        self.assertIn("result", self.served.ask("reset", instance="test/2"))

    def test_a_failure_is_reported_and_the_process_plays_on(self):
        ask = self.served.ask
        self.assertEqual(
            ask("reset", instance="train/404"), {"error": {"kind": "unknown_instance", "message": "no such place"}}
        )
        broken = ask("step", action={"content": "broken"})
        self.assertEqual(broken, {"error": {"kind": "backend", "message": "ZeroDivisionError"}})
        self.assertIn("error", ask("step", action={"content": "odd"}), "no JSON has NaN")
        self.assertIn("error", ask("nonsense"))
        self.assertIn("result", ask("reset", instance="test/0"))

    def test_an_expert_shows_actions_or_none(self):
        ask = self.served.ask
        self.assertEqual(ask("demonstrate", instance="train/0"), {"result": {"actions": None}})
        spoken = {"role": "assistant", "content": "end"}
        called = {"role": "assistant", "content": "", "tool_calls": [{"name": "say", "arguments": '{"words": "x"}'}]}
        self.assertEqual(ask("demonstrate", instance="train/1"), {"result": {"actions": [spoken, called]}})

    def test_printing_does_not_reach_the_protocol_and_the_end_of_input_ends_it(self):
        self.served.ask("reset", instance="test/0")
        code, errors = self.served.end()
        self.assertEqual((code, errors.strip()), (0, "begun"))
        self.served = Served(ECHO)


class Setup(unittest.TestCase):
    def test_setup_sees_settings_and_data_and_names_the_splits(self):
        served = Served(
            """
            from perdure_env import serve
            serve(None, None, setup=lambda settings, data: {data or "none": settings["size"]})
            """
        )
        self.addCleanup(served.end)
        opened = served.ask("open", settings={"size": 2}, dataDir=None)["result"]
        self.assertEqual(opened["splits"], [{"name": "none", "size": 2}])
        self.assertEqual(served.ask("open", settings={}, dataDir=None)["error"]["kind"], "backend")

    def test_an_environment_without_splits_is_refused(self):
        served = Served("from perdure_env import serve; serve(None, None)")
        self.addCleanup(served.end)
        self.assertEqual(served.ask("open")["error"]["kind"], "bad_settings")


class Reading(unittest.TestCase):
    def test_arguments_that_are_no_object_are_none(self):
        calls = [{"name": "a", "arguments": "[1]"}, {"name": "b", "arguments": '{"x": 1}'}, {"name": "c"}]
        self.assertEqual(perdure_env.calls({"tool_calls": calls}), [("a", None), ("b", {"x": 1}), ("c", {})])
        self.assertEqual(perdure_env.calls({"content": "words"}), [])

    def test_a_seed_follows_from_the_name_alone(self):
        self.assertEqual(perdure_env.seed_of("train/7"), perdure_env.seed_of("train/7"))
        self.assertEqual(len({perdure_env.seed_of(f"train/{index}") for index in range(1000)}), 1000)


if __name__ == "__main__":
    unittest.main()
