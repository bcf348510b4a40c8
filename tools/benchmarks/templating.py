"""Generate the JobSets of benchmarks.jobs with a template engine: a jsonnet function without any validation."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from benchmarks.jobs import RELEASE, parameters
from trainc import Options, compile_paths

FUNCTION = """\
local step = { 'trainer.kubeflow.org/trainjob-ancestor-step': 'trainer' };
local rank = "metadata.annotations['batch.kubernetes.io/job-completion-index']";

function(job) {
  apiVersion: 'jobset.x-k8s.io/v1alpha2',
  kind: 'JobSet',
  metadata: {
    name: job.name,
    namespace: job.namespace,
    labels: { 'kueue.x-k8s.io/queue-name': job.queue, 'example.com/team': job.team },
    annotations: {
      'argocd.argoproj.io/sync-options': 'ServerSideApply=true',
      'argocd.argoproj.io/sync-wave': '0',
    },
  },
  spec: {
    network: { enableDNSHostnames: true, publishNotReadyAddresses: true },
    startupPolicy: { startupPolicyOrder: 'AnyOrder' },
    successPolicy: { operator: 'All' },
    replicatedJobs: [{
      name: 'node',
      groupName: 'default',
      replicas: 1,
      template: {
        metadata: { labels: step },
        spec: {
          completionMode: 'Indexed',
          completions: job.nodes,
          parallelism: job.nodes,
          template: {
            metadata: { labels: step },
            spec: {
              restartPolicy: 'OnFailure',
              volumes: [{ name: 'shm', emptyDir: { medium: 'Memory', sizeLimit: '64Gi' } }],
              containers: [{
                name: 'node',
                image: job.image,
                command: job.command,
                args: job.args,
                env: [
                  { name: 'RUN', value: job.run },
                  { name: 'NCCL_DEBUG', value: job.level },
                  { name: 'PET_NNODES', value: std.toString(job.nodes) },
                  { name: 'PET_NPROC_PER_NODE', value: 'auto' },
                  { name: 'PET_NODE_RANK', valueFrom: { fieldRef: { fieldPath: rank } } },
                  { name: 'PET_MASTER_ADDR', value: '%s-node-0-0.%s' % [job.name, job.name] },
                  { name: 'PET_MASTER_PORT', value: '29500' },
                ],
                ports: [{ containerPort: 29500, protocol: 'TCP' }],
                resources: { limits: { 'nvidia.com/gpu': '%d' % job.gpu }, requests: { cpu: '%d' % job.cpu, memory: job.memory } },
                volumeMounts: [{ name: 'shm', mountPath: '/dev/shm' }],
              }],
            },
          },
        },
      },
    }],
  },
}
"""
# The parameters of the function, extracted from a TrainJob.
_FROM_TRAINJOB = """\
function(job) {
  local trainer = job.spec.trainer,
  name: job.metadata.name,
  namespace: job.metadata.namespace,
  queue: job.metadata.labels['kueue.x-k8s.io/queue-name'],
  team: job.metadata.labels['example.com/team'],
  nodes: trainer.numNodes,
  image: trainer.image,
  command: trainer.command,
  args: trainer.args,
  run: trainer.env[0].value,
  level: trainer.env[1].value,
  cpu: trainer.resourcesPerNode.requests.cpu,
  memory: trainer.resourcesPerNode.requests.memory,
  gpu: trainer.resourcesPerNode.limits['nvidia.com/gpu'],
}
"""
_IMPORTS = "local jobset = import 'jobset.libsonnet';\n"
LOAD_AND_DUMP = "import sys, yaml; from pathlib import Path; yaml.dump_all((d for f in sorted(Path(sys.argv[1]).glob('pretrain-*')) for d in yaml.load_all(f.read_text(), yaml.CSafeLoader)), sys.stdout, yaml.CSafeDumper)"
EVALUATE = "import sys, rjsonnet; sys.stdout.write(rjsonnet.evaluate_file(sys.argv[1]))"


def write_templates(folder: Path, jobs: Path, count: int) -> tuple[Path, Path]:
    """Write programs that generate the JobSets as YAML: from a list of parameters, and from the TrainJobs in `jobs`."""
    folder.mkdir()
    (folder / "jobset.libsonnet").write_text(FUNCTION)
    (folder / "parameters.libsonnet").write_text(_FROM_TRAINJOB)
    (folder / "jobs.json").write_text(json.dumps([parameters(number) for number in range(count)]))
    one, other = folder / "parameters.jsonnet", folder / "trainjobs.jsonnet"
    one.write_text(_IMPORTS + "std.manifestYamlStream(std.map(jobset, import 'jobs.json'))\n")
    files = "".join(f"  importstr '{path}',\n" for path in sorted(jobs.glob("job-*.yaml")))
    of_job = "local parameters = import 'parameters.libsonnet';\n"
    other.write_text(
        f"{_IMPORTS}{of_job}std.manifestYamlStream([jobset(parameters(std.parseYaml(job))) for job in [\n{files}]])\n"
    )
    return one, other


def check_templates(python: str, programs: tuple[Path, Path], jobs: Path) -> None:
    """Fail unless each program generates exactly the objects that trainc compiles from `jobs`."""
    import yaml

    wanted = {m["metadata"]["name"]: m for m in compile_paths([jobs], options=Options(release=RELEASE)).manifests}
    for program in programs:
        done = subprocess.run([python, "-c", EVALUATE, str(program)], capture_output=True, text=True, check=True)
        text = done.stdout if done.stdout.startswith("---") else json.loads(done.stdout)
        found = {m["metadata"]["name"]: m for m in yaml.load_all(text, yaml.CSafeLoader) if m}
        if found != wanted:
            sys.exit(f"{program.name} does not write what trainc compiles")
