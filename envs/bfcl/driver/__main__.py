"""
The multi-turn categories of BFCL, played with the official simulators and graded by the official checker.

Usage: python driver SITE DATA, where `driver` is this folder, SITE one with the packages bfcl_eval and mpmath, and
DATA one with questions, answers and function documents. Speaks the protocol of `envs/bridges/protocol.ts`: a JSON object
a line, requests on standard input, answers on standard output.

Invariants
- One answer to each request, in their order, and nothing else on standard output.
"""

import json
import sys

from data import Data
from episode import Episode
from fault import Fault
from simulation import limit_resources


class Driver:
    """Answers the requests of the bridge; one episode at a time."""

    def __init__(self, data):
        self.data = data
        self.settings = None
        self.episode = None

    def answer(self, method, params):
        if method == "open":
            self.settings = params["settings"]
            return {}
        if method == "reset":
            self.episode = Episode(self.data, self.settings, params["instance"])
            return self.episode.begin()
        if method == "step":
            if self.episode is None:
                raise Fault("session_lost", "bfcl: nothing is being played here")
            return self.episode.step(params["action"])
        if method == "close":
            self.episode = None
            return {}
        raise Fault("backend", f"bfcl: unknown request {method!r}")


def main(site, folder):
    sys.path.insert(0, site)
    answers, sys.stdout = sys.stdout, sys.stderr  # What a simulator prints is no answer.
    limit_resources()
    from bfcl_eval.constants.executable_backend_config import MULTI_TURN_FUNC_DOC_FILE_MAPPING

    driver = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if driver is None:
                driver = Driver(Data(folder, MULTI_TURN_FUNC_DOC_FILE_MAPPING))
            reply = {"result": driver.answer(request["method"], request.get("params", {}))}
        except Fault as fault:
            reply = {"error": {"kind": fault.kind, "message": str(fault)}}
        answers.write(json.dumps({"id": request["id"], **reply}) + "\n")
        answers.flush()


main(*sys.argv[1:])
