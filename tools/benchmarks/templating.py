"""Generate the JobSets of benchmarks.jobs with template engines, none of which validates: jsonnet, Helm, cdk8s."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.jobs import RELEASE, parameters, parsed
from trainc import Options, compile_paths

RJSONNET = "rjsonnet, of a list of parameters"
RJSONNET_JSON = "rjsonnet, of the TrainJobs as JSON"
RJSONNET_READING = "rjsonnet, of the TrainJobs"
HELM = "helm template, of a list of parameters"
CDK8S = "cdk8s in node, of a list of parameters"
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
# A chart with one template for all jobs of its values. Go's templates read numbers of JSON as floats.
_CHART = "apiVersion: v2\nname: jobs\nversion: 0.1.0\n"
_TEMPLATE = """\
{{- range .Values.jobs }}
---
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata:
  name: {{ .name }}
  namespace: {{ .namespace }}
  labels:
    kueue.x-k8s.io/queue-name: {{ .queue }}
    example.com/team: {{ .team }}
  annotations:
    argocd.argoproj.io/sync-options: ServerSideApply=true
    argocd.argoproj.io/sync-wave: "0"
spec:
  network: {enableDNSHostnames: true, publishNotReadyAddresses: true}
  startupPolicy: {startupPolicyOrder: AnyOrder}
  successPolicy: {operator: All}
  replicatedJobs:
  - name: node
    groupName: default
    replicas: 1
    template:
      metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
      spec:
        completionMode: Indexed
        completions: {{ int .nodes }}
        parallelism: {{ int .nodes }}
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec:
            restartPolicy: OnFailure
            volumes:
            - {name: shm, emptyDir: {medium: Memory, sizeLimit: 64Gi}}
            containers:
            - name: node
              image: {{ .image }}
              command: {{ toJson .command }}
              args: {{ toJson .args }}
              env:
              - {name: RUN, value: {{ .run }}}
              - {name: NCCL_DEBUG, value: {{ .level }}}
              - {name: PET_NNODES, value: "{{ int .nodes }}"}
              - {name: PET_NPROC_PER_NODE, value: auto}
              - name: PET_NODE_RANK
                valueFrom: {fieldRef: {fieldPath: "metadata.annotations['batch.kubernetes.io/job-completion-index']"}}
              - {name: PET_MASTER_ADDR, value: {{ .name }}-node-0-0.{{ .name }}}
              - {name: PET_MASTER_PORT, value: "29500"}
              ports:
              - {containerPort: 29500, protocol: TCP}
              resources:
                limits: {nvidia.com/gpu: "{{ int .gpu }}"}
                requests: {cpu: "{{ int .cpu }}", memory: {{ .memory }}}
              volumeMounts:
              - {name: shm, mountPath: /dev/shm}
{{- end }}
"""
# A program for cdk8s, in JavaScript, as it runs in node without a binding to another language.
_PROGRAM = """\
const { App, Chart, ApiObject } = require('cdk8s');
const app = new App(), chart = new Chart(app, 'jobs');
const step = { 'trainer.kubeflow.org/trainjob-ancestor-step': 'trainer' };
const rank = "metadata.annotations['batch.kubernetes.io/job-completion-index']";
for (const job of require('./jobs.json')) {
  const container = {
    name: 'node', image: job.image, command: job.command, args: job.args,
    env: [
      { name: 'RUN', value: job.run }, { name: 'NCCL_DEBUG', value: job.level },
      { name: 'PET_NNODES', value: `${job.nodes}` }, { name: 'PET_NPROC_PER_NODE', value: 'auto' },
      { name: 'PET_NODE_RANK', valueFrom: { fieldRef: { fieldPath: rank } } },
      { name: 'PET_MASTER_ADDR', value: `${job.name}-node-0-0.${job.name}` }, { name: 'PET_MASTER_PORT', value: '29500' },
    ],
    ports: [{ containerPort: 29500, protocol: 'TCP' }],
    resources: { limits: { 'nvidia.com/gpu': `${job.gpu}` }, requests: { cpu: `${job.cpu}`, memory: job.memory } },
    volumeMounts: [{ name: 'shm', mountPath: '/dev/shm' }],
  };
  const pod = {
    restartPolicy: 'OnFailure', containers: [container],
    volumes: [{ name: 'shm', emptyDir: { medium: 'Memory', sizeLimit: '64Gi' } }],
  };
  new ApiObject(chart, job.name, {
    apiVersion: 'jobset.x-k8s.io/v1alpha2', kind: 'JobSet',
    metadata: {
      name: job.name, namespace: job.namespace,
      labels: { 'kueue.x-k8s.io/queue-name': job.queue, 'example.com/team': job.team },
      annotations: { 'argocd.argoproj.io/sync-options': 'ServerSideApply=true', 'argocd.argoproj.io/sync-wave': '0' },
    },
    spec: {
      network: { enableDNSHostnames: true, publishNotReadyAddresses: true },
      startupPolicy: { startupPolicyOrder: 'AnyOrder' }, successPolicy: { operator: 'All' },
      replicatedJobs: [{
        name: 'node', groupName: 'default', replicas: 1,
        template: {
          metadata: { labels: step },
          spec: {
            completionMode: 'Indexed', completions: job.nodes, parallelism: job.nodes,
            template: { metadata: { labels: step }, spec: pod },
          },
        },
      }],
    },
  });
}
process.stdout.write(app.synthYaml());
"""
LOAD_AND_DUMP = "import sys, yaml; from pathlib import Path; yaml.dump_all((d for f in sorted(Path(sys.argv[1]).glob('pretrain-*')) for d in yaml.load_all(f.read_text(), yaml.CSafeLoader)), sys.stdout, yaml.CSafeDumper)"
EVALUATE = "import sys, rjsonnet; sys.stdout.write(rjsonnet.evaluate_file(sys.argv[1]))"


def write_templates(folder: Path, jobs: Path, count: int, python: str) -> dict[str, list[str]]:
    """Write programs that generate the JobSets as YAML, and return their commands, those that are installed.

    rjsonnet gets a list of parameters, the TrainJobs in `jobs` as a JSON file for each, and these as they are; Helm and
    cdk8s get the parameters.
    """
    folder.mkdir()
    every = [parameters(number) for number in range(count)]
    (folder / "jobset.libsonnet").write_text(FUNCTION)
    (folder / "parameters.libsonnet").write_text(_FROM_TRAINJOB)
    (folder / "jobs.json").write_text(json.dumps(every))
    one, same, other = (folder / f"{name}.jsonnet" for name in ("parameters", "json", "trainjobs"))
    one.write_text(_IMPORTS + "std.manifestYamlStream(std.map(jobset, import 'jobs.json'))\n")
    texts = sorted(jobs.glob("job-*.yaml"))
    (folder / "json").mkdir()
    for path in texts:
        (folder / "json" / f"{path.stem}.json").write_text(json.dumps(parsed(path.read_text())))
    files = "".join(f"  importstr '{path}',\n" for path in texts)
    # Of the ways to read JSON that rjsonnet has, the fastest: `import`, also of one list of all jobs, takes a fifth more.
    imported = "".join(f"  importstr 'json/{path.stem}.json',\n" for path in texts)
    of_job = "local parameters = import 'parameters.libsonnet';\n"
    other.write_text(
        f"{_IMPORTS}{of_job}std.manifestYamlStream([jobset(parameters(std.parseYaml(job))) for job in [\n{files}]])\n"
    )
    same.write_text(
        f"{_IMPORTS}{of_job}std.manifestYamlStream([jobset(parameters(std.parseJson(job))) for job in [\n{imported}]])\n"
    )
    programs = {RJSONNET: one, RJSONNET_JSON: same, RJSONNET_READING: other}
    commands = {name: [python, "-c", EVALUATE, str(path)] for name, path in programs.items()}
    chart = folder / "chart"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text(_CHART)
    (chart / "templates" / "jobs.yaml").write_text(_TEMPLATE)
    (chart / "values.yaml").write_text(json.dumps({"jobs": every}))
    if (helm := Path(python).with_name("helm")).exists():
        commands[HELM] = [str(helm), "template", "jobs", str(chart)]
    modules = Path(python).parents[2] / "bench-node" / "node_modules"
    if (node := shutil.which("node")) and modules.exists():
        (folder / "node_modules").symlink_to(modules.absolute())
        (folder / "jobs.js").write_text(_PROGRAM)
        commands[CDK8S] = [node, str(folder / "jobs.js")]
    return commands


def check_templates(commands: Mapping[str, Sequence[str]], jobs: Path) -> None:
    """Fail unless each program generates exactly the objects that trainc compiles from `jobs`."""
    import yaml

    wanted = {m["metadata"]["name"]: m for m in compile_paths([jobs], options=Options(release=RELEASE)).manifests}
    for name, command in commands.items():
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        text = json.loads(done.stdout) if done.stdout.startswith('"') else done.stdout
        found = {m["metadata"]["name"]: m for m in yaml.load_all(text, yaml.CSafeLoader) if m}
        if found != wanted:
            sys.exit(f"{name} does not write what trainc compiles")
