"""A script of an ML engineer, with nothing of trainc in it."""

import argparse

from kubeflow.trainer import CustomTrainer, TrainerClient
from kubeflow.trainer.options import Name

parser = argparse.ArgumentParser()
parser.add_argument("--nodes", type=int, default=2)
parser.add_argument("--memory", default="8Gi")
arguments = parser.parse_args()


def train() -> None:
    print("training")


resources = {"gpu": 8, "memory": arguments.memory}
trainer = CustomTrainer(func=train, num_nodes=arguments.nodes, resources_per_node=resources)
client = TrainerClient()
name = client.train(trainer=trainer, options=[Name("llm")])
client.wait_for_job_status(name)
print("submitted", name, "and", client.train(trainer=trainer))
