"""
Questions, answers and function documents, read from the files of the package or of a published version.

Invariants
- A missing or unreadable file is a fault that names it; no data is made up for it.
"""

import copy
import json
import os
import re

from fault import Fault


class Data:
    """One version of the questions."""

    def __init__(self, folder, documents):
        self.folder = folder
        self.documents = documents
        self.prefix = next(
            (match[1] for match in map(re.compile(r"(BFCL_v\d+)_multi_turn_").match, sorted(os.listdir(folder))) if match),
            None,
        )
        if self.prefix is None:
            raise Fault("bad_data", f"bfcl data: {folder} has no file BFCL_v…_multi_turn_….json")
        self.categories = {}
        self.functions = {}

    def entry(self, instance):
        """The question of an instance, its category and its answers."""
        match = re.fullmatch(r"(multi_turn_[a-z_]{1,40})_\d{1,9}", instance)
        questions, answers = self.category(match[1]) if match else ({}, {})
        if instance not in questions:
            raise Fault("unknown_instance", f"bfcl has no instance {json.dumps(instance[:80])}")
        return questions[instance], match[1], answers.get(instance)

    def category(self, name):
        if name not in self.categories:
            file = f"{self.prefix}_{name}.json"
            if not os.path.exists(os.path.join(self.folder, file)):
                return {}, {}
            answers = {row["id"]: row["ground_truth"] for row in self.read("possible_answer", file)}
            self.categories[name] = ({row["id"]: row for row in self.read(file)}, answers)
        return self.categories[name]

    def documents_of(self, class_name):
        """Function documents of a class, in the order of its file."""
        if class_name not in self.functions:
            file = self.documents.get(class_name)
            if file is None:
                raise Fault("bad_data", f"bfcl: there is no simulator {class_name!r}")
            self.functions[class_name] = self.read("multi_turn_func_doc", file)
        return copy.deepcopy(self.functions[class_name])

    def read(self, *names):
        path = os.path.join(self.folder, *names)
        try:
            with open(path, encoding="utf-8") as lines:
                return [json.loads(line) for line in lines if line.strip()]
        except (OSError, ValueError) as error:
            raise Fault("bad_data", f"bfcl data: {path}: {error}") from error
