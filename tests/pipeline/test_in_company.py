"""What is worked out once for many jobs changes none of them: a job in company gives what it gives alone."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import trainc
from trainc import Options, catalog

# Each job with the bytes and the findings that it gives, in the order in which they are compiled.
COMPILE = """\
import json, sys
from trainc import CompileError, Options, compile_many
jobs, runtimes = json.load(sys.stdin)
for result in compile_many(jobs, runtimes=runtimes, options=Options(release="2.3")):
    failed = isinstance(result.error, CompileError)
    found = result.error.diagnostics if failed else result.compilation.diagnostics
    print(json.dumps(["" if failed else result.compilation.to_yaml(), list(map(repr, found))]))
"""
RUNTIMES = ("torch-distributed", "deepspeed-distributed", "jax-distributed", "xgboost-distributed")


def made_up(number: int, choose: random.Random) -> dict[str, Any]:
    """A job that has much in common with the others; now and then one that is wrong."""
    amounts = {"cpu": choose.choice([2, "96", "1500m"]), "memory": choose.choice(["4Gi", "4096Mi", "1Ti", "x"])}
    metadata = {
        "name": f"job-{number}",
        "namespace": choose.choice(["a", "b"]),
        "labels": {"team": choose.choice("xy")},
    }
    trainer = {
        "numNodes": choose.choice([1, 2, 16]),
        "image": choose.choice(["example.com/a:1", "example.com/a:2", "Not An Image"]),
        "command": choose.choice([["torchrun", "train.py"], ["python", "train.py"], ["mpirun", "-np", "2", "a"]]),
        "env": [{"name": "NCCL_DEBUG", "value": choose.choice(["INFO", "inf0"])}],
        "resourcesPerNode": {"requests": amounts, "limits": {"nvidia.com/gpu": choose.choice([1, 8])}},
    }
    spec = {"runtimeRef": {"name": choose.choice(RUNTIMES)}, "trainer": trainer}
    return {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": metadata, "spec": spec}


def compiled(jobs: list[dict[str, Any]]) -> list[list[Any]]:
    """What a new process makes of these jobs."""
    runtimes = [runtime for runtime in catalog(Options().release or "2.3") if runtime["metadata"]["name"] in RUNTIMES]
    environment = {**os.environ, "PYTHONPATH": str(Path(trainc.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", COMPILE],
        input=json.dumps([jobs, runtimes]),
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_job_in_company_gives_the_bytes_and_findings_that_it_gives_alone() -> None:
    choose = random.Random(20261128)
    jobs = [made_up(number, choose) for number in range(150)]
    together = compiled(jobs)
    assert {bool(text) for text, _ in together} == {True, False}
    assert together == compiled(jobs[::-1])[::-1]
    assert [compiled([job])[0] for job in jobs[:12]] == together[:12]
