"""MCP tools behind an OpenEnv server, which pays for the sum 42. `python3 tools.py PORT PLACES`"""

import sys

import uvicorn
from fastmcp import FastMCP
from fastmcp.utilities.types import Image
from openenv.core.env_server import Observation, State, create_app
from openenv.core.env_server.mcp_environment import MCPEnvironment
from openenv.core.env_server.mcp_types import CallToolAction, CallToolObservation


class Calculator(MCPEnvironment):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self):
        tools = FastMCP("calculator")
        self.won = False

        @tools.tool
        def add(a: int, b: int) -> int:
            """Adds two numbers."""
            self.won = self.won or a + b == 42
            return a + b

        @tools.tool
        def fail(why: str) -> str:
            """Always fails."""
            raise ValueError(why)

        @tools.tool
        def draw() -> Image:
            """Draws a picture."""
            return Image(data=b"\x89PNG", format="png")

        super().__init__(tools)

    def reset(self, seed=None, episode_id=None, **_):
        self.won = False
        return Observation(metadata={"hidden": 1})

    def step(self, action, timeout_s=None, **given):
        return self.paid(super().step(action, timeout_s=timeout_s, **given))

    async def step_async(self, action, timeout_s=None, **given):
        return self.paid(await super().step_async(action, timeout_s=timeout_s, **given))

    def paid(self, observation):
        if self.won:
            observation.reward, observation.done = 1.0, True
        return observation

    def _step_impl(self, action, timeout_s=None, **_):
        return Observation()

    @property
    def state(self):
        return State(step_count=0)


port, places = map(int, sys.argv[1:])
app = create_app(Calculator, CallToolAction, CallToolObservation, env_name="calculator", max_concurrent_envs=places)
uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning")
