"""The cluster that KUBECONFIG names, with a namespace of its own for the run."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator

import pytest
from e2e.live import Live, RefusedError


@pytest.fixture(scope="session")
def live() -> Iterator[Live]:
    """The live cluster; without one, a skip that says how to get one."""
    kubeconfig = os.environ.get("KUBECONFIG")
    if not kubeconfig:
        pytest.skip("KUBECONFIG is not set; CONTRIBUTING.md says how to point it at kind")
    program = shutil.which("kubectl")
    if program is None:
        pytest.skip("kubectl is not installed")
    cluster = Live(program, kubeconfig, f"trainc-e2e-{uuid.uuid4().hex[:8]}")
    try:
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": cluster.namespace}}
        cluster.call("create", "--filename=-", given=[namespace])
    except RefusedError as refused:
        pytest.exit(f"the cluster of {kubeconfig} cannot be used: {refused}", returncode=1)
    yield cluster
    cluster.call("delete", "namespace", cluster.namespace, "--wait=false")
