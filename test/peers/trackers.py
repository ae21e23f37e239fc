"""Reads a folder or file with TensorBoard, MLflow or pandas and prints JSON: `trackers.py KIND PATH`."""

import json
import os
import sys


def tensorboard(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(folder, size_guidance={"scalars": 0, "tensors": 0}).Reload()
    tags = events.Tags()
    scalars = {tag: [(e.step, e.value, e.wall_time) for e in events.Scalars(tag)] for tag in tags["scalars"]}
    return scalars


def mlflow(folder):
    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
    from mlflow.tracking import MlflowClient

    client = MlflowClient(tracking_uri=folder)
    experiments = client.search_experiments()
    runs = client.search_runs([experiment.experiment_id for experiment in experiments])
    return {
        "experiments": [experiment.name for experiment in experiments],
        "runs": [
            {
                "name": run.info.run_name,
                "status": run.info.status,
                "params": run.data.params,
                "metrics": {
                    key: [(point.step, point.value) for point in client.get_metric_history(run.info.run_id, key)]
                    for key in run.data.metrics
                },
            }
            for run in runs
        ],
    }


def pandas(file):
    import pandas

    table = pandas.read_csv(file)
    return {
        "columns": list(table.columns),
        "types": [str(kind) for kind in table.dtypes],
        "rows": json.loads(table.to_json(orient="records", double_precision=15)),
    }


print(json.dumps({"tensorboard": tensorboard, "mlflow": mlflow, "pandas": pandas}[sys.argv[1]](sys.argv[2])))
