"""An episode of verifiers (pip install verifiers==0.4.0 uv): its null harness plays letters_v1.py, whose reward is that of the episode."""

import json
import os
import subprocess
import sys
from pathlib import Path

tasksets = Path(__file__).resolve().parent / "verifiers"
programs = Path(sys.executable).parent  # vf-eval and uv
words = ["vf-eval", "letters-v1", "-m", "policy", "-n", "1", "--no-push"]
words += ["--env.agent.harness.id", "null", "--env.agent.runtime.type", "subprocess"]
words += ["--client.base-url", os.environ["OPENAI_BASE_URL"], "--client.api-key-var", "OPENAI_API_KEY"]
path = f"{programs}{os.pathsep}{os.environ['PATH']}"
subprocess.run(words, check=True, env={**os.environ, "PATH": path, "PYTHONPATH": str(tasksets)})

[traces] = Path("outputs").glob("*/traces.jsonl")
[trace] = json.loads(traces.read_text().splitlines()[0])["traces"]
if not trace["ok"]:
    sys.exit(f"verifiers lost the episode: {trace['errors']}")  # no reward: it is played again
reward = sum(each["score"] * each["weight"] for each in trace["rewards"].values())
Path(os.environ["PERDURE_RESULT_FILE"]).write_text(json.dumps({"reward": reward}) + "\n")
