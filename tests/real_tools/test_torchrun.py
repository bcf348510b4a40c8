"""torchrun's own argument parser reads the PET_ variables that trainc emits."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from typing import Any

import pytest
from builders import compiled, env, runtime, trainjob

# The interpreter with torch: this one, or another that somebody names.
PYTHON = os.environ.get("TRAINC_TORCH_PYTHON", sys.executable)
PROGRAM = """
import json
from torch.distributed.run import config_from_args, get_args_parser
config, _, _ = config_from_args(get_args_parser().parse_args(["train.py"]))
print(json.dumps({
    "nodes": [config.min_nodes, config.max_nodes],
    "processes": config.nproc_per_node,
    "backend": config.rdzv_backend,
    "endpoint": config.rdzv_endpoint,
    "id": config.run_id,
    "restarts": config.max_restarts,
    "configs": {key: value for key, value in config.rdzv_configs.items() if key == "rank"},
}))
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        "TRAINC_TORCH_PYTHON" not in os.environ and importlib.util.find_spec("torch") is None,
        reason="torch is not installed; install it, or name an interpreter that has it in TRAINC_TORCH_PYTHON",
    ),
]


def read_by_torchrun(variables: dict[str, Any], rank: int) -> dict[str, Any]:
    """What torchrun makes of the variables in the pod of this completion index."""
    literal = {name: value if isinstance(value, str) else str(rank) for name, value in variables.items()}
    reported = {name: value for name, value in literal.items() if name.startswith("PET_")}
    ran = subprocess.run(
        [PYTHON, "-c", PROGRAM], env={**os.environ, **reported}, capture_output=True, text=True, check=True, timeout=300
    )
    result: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return result


@pytest.mark.parametrize("rank", [0, 3])
def test_a_fixed_number_of_nodes(rank: int) -> None:
    result = compiled(trainjob({"numNodes": 4, "numProcPerNode": 2}), runtime(policy={"torch": {}}))
    read = read_by_torchrun(env(result), rank)
    assert read["nodes"] == [4, 4]
    assert read["processes"] == 2
    assert (read["backend"], read["endpoint"]) == ("static", "llm-node-0-0.llm:29500")
    assert read["configs"] == {"rank": rank}


def test_an_elastic_number_of_nodes() -> None:
    policy = {"torch": {"elasticPolicy": {"minNodes": 2, "maxNodes": 8, "maxRestarts": 5}}}
    read = read_by_torchrun(env(compiled(trainjob({"numProcPerNode": 1}), runtime(policy=policy))), 0)
    assert read["nodes"] == [2, 8]
    assert (read["backend"], read["endpoint"], read["id"]) == ("c10d", "llm-node-0-0.llm:29500", "llm")
    assert read["restarts"] == 5
