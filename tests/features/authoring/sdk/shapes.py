"""Shapes of jobs as SDK code makes them: what its own Kubernetes backend sends, and what trainc's keeps. Printed as JSON.

Run by an interpreter that has the SDK; test_kubeflow.py beside it reads what it prints.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from kubeflow.trainer import TrainerClient
from kubeflow.trainer import options as sdk_options
from kubeflow.trainer.backends.kubernetes.backend import KubernetesBackend
from kubeflow.trainer.types import types

import trainc.kubeflow
from trainc import CompileError, Options
from trainc.features.authoring.sdk.backend import OfflineObjects
from trainc.functions import catalog


def train(lr: float = 0.1) -> None:
    print("training", lr)


def shapes() -> dict[str, dict[str, Any]]:
    """The arguments of train() by what they show; those whose options this version lacks are left out."""
    custom, options = types.CustomTrainer, sdk_options
    hf_data = types.HuggingFaceDatasetInitializer(storage_uri="hf://tatsu-lab/alpaca")
    hf_model = types.HuggingFaceModelInitializer(storage_uri="hf://meta-llama/Llama-3.2-1B-Instruct")
    found: dict[str, dict[str, Any]] = {
        "function": {
            "trainer": custom(func=train, num_nodes=2, resources_per_node={"gpu": 2, "cpu": 4, "memory": "8Gi"})
        },
        "arguments": {"trainer": custom(func=train, func_args={"lr": 0.2}, env={"A": "1"}, num_nodes=2)},
        "packages": {"trainer": custom(func=train, packages_to_install=["transformers"])},
        "container": {"trainer": types.CustomTrainerContainer(image="example.com/t:1", num_nodes=2)},
        "jax": {"runtime": "jax-distributed", "trainer": custom(func=train, num_nodes=4)},
        "mpi": {
            "runtime": "deepspeed-distributed",
            "trainer": custom(func=train, num_nodes=2, resources_per_node={"gpu": 2}),
        },
        "torchtune": {
            "runtime": "torchtune-llama3.2-1b",
            "trainer": types.BuiltinTrainer(config=types.TorchTuneConfig(epochs=2, batch_size=4)),
            "initializer": types.Initializer(dataset=hf_data, model=hf_model),
        },
        "labels": {
            "trainer": custom(func=train),
            "options": [options.Labels({"team": "a"}), options.Annotations({"why": "test"})],
        },
        "command": {"options": [options.TrainerCommand(["torchrun", "t.py"]), options.TrainerArgs(["--lr", "1"])]},
    }
    if hasattr(options, "ActiveDeadlineSeconds"):
        found["deadline"] = {"trainer": custom(func=train), "options": [options.ActiveDeadlineSeconds(600)]}
    if hasattr(options, "RuntimePatch"):
        patch = options.RuntimePatch(
            training_runtime_spec=options.TrainingRuntimeSpecPatch(
                template=options.JobSetTemplatePatch(
                    spec=options.JobSetSpecPatch(
                        replicated_jobs=[
                            options.ReplicatedJobPatch(
                                name="node",
                                template=options.JobTemplatePatch(
                                    spec=options.JobSpecPatch(
                                        template=options.PodTemplatePatch(
                                            spec=options.PodSpecPatch(node_selector={"a": "b"})
                                        )
                                    )
                                ),
                            )
                        ]
                    )
                )
            )
        )
        found["patch"] = {"trainer": custom(func=train), "options": [patch]}
    return found


def real_client(sent: list[Any], release: str) -> TrainerClient:
    """The SDK's own client and backend; only the API behind it is a stub."""
    backend = KubernetesBackend.__new__(KubernetesBackend)
    backend.namespace = "team-a"

    def send(_: Any, body: Any) -> Any:
        sent.append(body)
        return body

    backend.custom_api = OfflineObjects(catalog(release), send)
    client = TrainerClient.__new__(TrainerClient)
    client.backend = backend
    return client


def main() -> None:
    (release,) = sys.argv[1:]
    found: dict[str, Any] = {}
    runtimes = {runtime["metadata"]["name"] for runtime in catalog(release)}
    for name, arguments in shapes().items():
        if arguments.get("runtime", "torch-distributed") not in runtimes:
            continue
        named = {**arguments, "options": [*arguments.get("options", ()), sdk_options.Name(f"job-{name}")]}
        sent: list[Any] = []
        real_client(sent, release).train(**named)
        client = trainc.kubeflow.offline_client(namespace="team-a", options=Options(release=release))
        try:
            client.train(**named)
            kept = {
                "kept": client.backend.trainjobs,
                "kinds": [m["kind"] for m in client.backend.compilation.manifests],
            }
        except CompileError as error:
            kept = {"refused": str(error)}
        found[name] = {"sent": sent, **kept}
    json.dump(found, sys.stdout, default=str)


main()
