"""Documents that nobody writes by accident, each with the code that `trainc build` refuses it with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

HEAD = """apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm, namespace: team-a}
spec:
  runtimeRef: {name: torch-distributed}
"""
RUNTIME = """apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: torch-distributed}
spec:
  template:
    spec:
      failurePolicy: {rules: [{name: a, action: FailJobSet, onJobFailureMessagePatterns: [PATTERN]}]}
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: a}]}}}
"""


def _bomb(first: str, level: str, separator: str = ", ") -> str:
    """Twelve levels, each ten times the one before: a billion values in a page."""
    levels = (level.format(i, separator.join([f"*l{i - 1}"] * 10), i) for i in range(1, 12))
    return first + "".join(levels)


def _amount(text: str) -> str:
    return f'{HEAD}  trainer: {{resourcesPerNode: {{limits: {{cpu: "{text}", nvidia.com/gpu: "{text}"}}}}}}\n'


def _nodes(text: str) -> str:
    return f"{HEAD}  trainer: {{numNodes: {text}}}\n"


def _pattern(text: str) -> str:
    return f"{HEAD}---\n{RUNTIME.replace('PATTERN', text)}"


SMALL: Mapping[str, tuple[str | bytes, str]] = {
    "a bomb of aliases": (_bomb("l0: &l0 [x]\n", "l{0}: &l{0} [{1}]\n"), "TooManyAliases"),
    "a bomb of merges": (_bomb("l0: &l0 {k: v}\n", "l{0}: &l{0} {{<<: [{1}], k{2}: v}}\n"), "TooManyAliases"),
    "a chain of merges": (
        "l0: &l0 {k: v}\n" + "".join(f"l{i}: &l{i} {{<<: *l{i - 1}}}\n" for i in range(1, 2000)),
        "TooDeep",
    ),
    "an anchor inside itself": ("a: &a [*a]\n", "YAMLSyntax"),
    "an anchor merged into itself": ("a: &a {<<: *a}\n", "YAMLSyntax"),
    "an alias of nothing": ("a: *b\n", "YAMLSyntax"),
    "ten thousand lists": (f"{HEAD}  x: {'[' * 10_000}{']' * 10_000}\n", "TooDeep"),
    "ten thousand mappings": (f"{HEAD}  x: {'{a: ' * 10_000}{'}' * 10_000}\n", "TooDeep"),
    "ten thousand dashes": (f"{'- ' * 10_000}a\n", "TooDeep"),
    "ten thousand keys of keys": (f"{'? ' * 10_000}a\n", "TooDeep"),
    "a million lists that are not closed": ("[" * 1_000_000, "TooDeep"),
    "ten thousand objects of JSON": ('{"a":' * 10_000 + "1" + "}" * 10_000, "TooDeep"),
    "ten thousand arrays of JSON": ('{"a":' + "[" * 10_000 + "]" * 10_000 + "}", "TooDeep"),
    "lists of lists of items": ("{kind: List, items: [" * 60 + "]}" * 60, "TooDeep"),
    "an integer of a hundred thousand digits": (_nodes("9" * 100_000), "WrongType"),
    "the same in hexadecimal": (_nodes("0x" + "f" * 100_000), "WrongType"),
    "the same as an exponent": (_nodes("1e" + "9" * 100_000), "WrongType"),
    "the largest integer": (_nodes("9223372036854775807"), "OutOfRange"),
    "the largest float": (_nodes("1e308"), "OutOfRange"),
    "infinity": (_nodes(".inf"), "NonFiniteNumber"),
    "a quantity of a hundred thousand digits": (_amount("9" * 100_000), "InvalidQuantity"),
    "a quantity with a huge exponent": (_amount("1e999999999"), "InvalidQuantity"),
    "a quantity with a tiny exponent": (_amount("1e-999999999"), "ExtendedResourceNotInteger"),
    "a quantity with an exponent beyond 64 bits": (_amount("1E99999999999999999999"), "InvalidQuantity"),
    "a quantity too large for its suffix": (_amount("9" * 30 + "Ei"), "InvalidQuantity"),
    "NUL": (f"{HEAD}  x: a\0b\n", "InvalidEncoding"),
    "an escape sequence": (f"{HEAD}  x: a\x1b[31mb\n", "InvalidEncoding"),
    "DEL": (f"{HEAD}  x: a\x7fb\n", "InvalidEncoding"),
    "bytes that are no UTF-8": (HEAD.encode() + b"  x: \xff\xfe\n", "InvalidEncoding"),
    "a surrogate in UTF-8": (HEAD.encode() + b"  x: \xed\xa0\x80\n", "InvalidEncoding"),
    "an odd byte of UTF-16": (b"\xff\xfe" + HEAD.encode("utf-16-le")[:-1], "InvalidEncoding"),
    "UTF-32": (HEAD.encode("utf-32"), "InvalidEncoding"),
    "half a surrogate pair in YAML": (f'{HEAD}  trainer: {{command: ["\\ud800"]}}\n', "YAMLSyntax"),
    "half a surrogate pair in JSON": ('{"kind": "TrainJob", "spec": {"a": "\\ud800"}}', "YAMLSyntax"),
    "a key twice": (f"{HEAD}  runtimeRef: {{name: x}}\n", "DuplicateKey"),
    "a key twice in JSON": ('{"kind": "TrainJob", "kind": "TrainJob"}', "DuplicateKey"),
    "a tag of Python": (f"{HEAD}  x: !!python/object/apply:os.system [exit]\n", "UnsupportedTag"),
    "a document that is a tag of Python": ("!!python/object/new:os.system [exit]\n", "UnsupportedTag"),
    "a tag of somebody": (f"{HEAD}  x: !<tag:example.com,2000:x> y\n", "UnsupportedTag"),
    "binary that is none": (f"{HEAD}  x: !!binary {'A' * 100_001}\n", "UnsupportedTag"),
    "a directive": ("%YAML 9.9\n" + HEAD, "YAMLSyntax"),
    "lists and mappings as keys": (f"{HEAD}  ? [a, b]\n  : c\n", "UnsupportedKey"),
    "values of any type": (
        "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: []\nspec: 5\n",
        "WrongType",
    ),
    "no values": ("apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata:\nspec:\n", "MissingRequired"),
    "a kind that is a list": ("apiVersion: [1]\nkind: {a: b}\n", "NoTrainJob"),
    "a name of a million letters": (HEAD.replace("llm", "a" * 1_000_000), "InvalidName"),
    "a name of a million dots": (HEAD.replace("llm", "a." * 500_000 + "!"), "InvalidName"),
    "a name that leads elsewhere": (HEAD.replace("llm", "../../etc/llm"), "InvalidName"),
    "a namespace that leads elsewhere": (HEAD.replace("team-a", "../.."), "InvalidName"),
    "a label of a million letters": (
        HEAD.replace("{name", f"{{labels: {{a: {'a-' * 500_000}}}, name", 1),
        "InvalidLabel",
    ),
    "two thousand fields that are none": (HEAD + "".join(f"  x{i}: 1\n" for i in range(2_000)), "UnknownField"),
    "two thousand variables with one name": (
        f"{HEAD}  trainer:\n    env:\n" + "    - {name: A, value: x}\n" * 2_000,
        "DuplicateItem",
    ),
    "two thousand variables that are none": (
        f"{HEAD}  trainer:\n    env:\n" + "    - {nme: A}\n" * 2_000,
        "UnknownField",
    ),
    "a hundred thousand groups in a pattern": (_pattern("'" + "(" * 100_000 + "'"), "InvalidMessagePattern"),
    "repetitions of repetitions in a pattern": (_pattern("'" + "(a{1000}){1000}" * 100 + "'"), "InvalidMessagePattern"),
    "a job for two billion hosts of MPI": (
        HEAD.replace("torch-distributed", "deepspeed-distributed") + "  trainer: {numNodes: 2147483647}\n",
        "HostfileTooLarge",
    ),
}

# Made when they are asked for: together they take hundreds of megabytes.
LARGE: Mapping[str, tuple[Callable[[], str], str]] = {
    "a document of a hundred megabytes": (
        lambda: f"{HEAD}  x: |\n" + f"    {'y' * 95}\n" * 1_000_000,
        "DocumentTooLarge",
    ),
    "two hundred thousand documents": (lambda: "---\na: 1\n" * 200_000, "TooManyDocuments"),
    "half a million separators": (lambda: "---\n" * 500_000, "TooManyDocuments"),
    "three hundred thousand objects of JSON": (lambda: "{}" * 300_000, "TooManyDocuments"),
    "a file of more than two hundred megabytes": (lambda: f"{HEAD}# {'y' * 998}\n" * 200_000, "UnreadableFile"),
}

# Each job has a file, keys, a claim, and a Secret with a login; of a second file the ConfigMap has another name.
_AMONG_OBJECTS = (
    HEAD.replace("llm", "NAME")
    + """  trainer: {image: nvcr.io/nim/NAME:1, command: [torchrun, /config/x.py, --config, /other/train.yaml], env: [{name: A, valueFrom: {configMapKeyRef: {name: NAME-files, key: a.py}}}]}
  runtimePatches: [{manager: example.com/team, trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: {
    securityContext: {runAsUser: 1000},
    volumes: [{name: a, configMap: {name: NAME-files}}, {name: b, configMap: {name: NAME-oters}}, {name: c, persistentVolumeClaim: {claimName: NAME}}],
    containers: [{name: node, volumeMounts: [{name: a, mountPath: /config}, {name: b, mountPath: /other}, {name: c, mountPath: /data}]}]}}}}}]}}}}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: NAME-files, namespace: team-a}
data: {x.py: "import torch", train.yaml: "a: 1"}
---
apiVersion: v1
kind: Secret
metadata: {name: NAME, namespace: team-a}
type: kubernetes.io/dockerconfigjson
stringData: {.dockerconfigjson: '{"auths": {"NAME": {}}}'}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: NAME, namespace: team-a}
spec: {accessModes: [ReadWriteOnce], storageClassName: gp3}
"""
)
_AMONG_RUNTIMES = (
    HEAD.replace("llm", "NAME").replace("torch-distributed", "NAME-runtme")
    + """---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: NAME-runtime}
spec: {mlPolicy: {torch: {}}, template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: {containers: [{name: node, image: a}]}}}}}]}}}
"""
)
# Documents of any size, for tests that count steps: each is a file that grows in one way.
GROWING: Mapping[str, Callable[[int], str]] = {
    "fields that are none in one line": lambda n: HEAD.replace("{name: t", "{" + ", ".join(f"a{i}: b" for i in range(n)) + ", name: t"),
    "fields that are none on lines": lambda n: HEAD + "".join(f"  a{i}: b\n" for i in range(n)),
    "ignore comments": lambda n: HEAD + "".join(f"  a{i}: 1 # trainc: ignore[UnknownField] x\n" for i in range(n)),
    "ignore comments above a line": lambda n: HEAD
    + "".join(f"  # trainc: ignore[UnknownField] {i}\n" for i in range(n))
    + "  a: 1\n",
    "misspelt items in one line": lambda n: HEAD + "  trainer: {env: [" + ",".join(f"{{nme: A{i}}}" for i in range(n)) + "]}\n",
    "items with one name": lambda n: HEAD + "  trainer: {env: [" + ",".join("{name: A}" for _ in range(n)) + "]}\n",
    "labels": lambda n: HEAD.replace("{name: l", "{labels: {" + ", ".join(f"a{i}: b" for i in range(n)) + "}, name: l"),
    "a script of conditions": lambda n: HEAD + f"  trainer: {{command: [bash, -c, '{'if a; then b; fi; ' * n}torchrun x.py']}}\n",
    "arguments": lambda n: HEAD + "  trainer: {command: [torchrun, x.py], args: [" + ", ".join(f"--a{i}" for i in range(4 * n)) + "]}\n",
    "volumes": lambda n: HEAD + "---\n" + RUNTIME.replace("MessagePatterns: [PATTERN]", "Reasons: [BackoffLimitExceeded]").replace("a}]", "a}], volumes: [" + ", ".join(f"{{name: a{i}, emptyDir: {{}}}}" for i in range(n)) + "]"),
    "variables": lambda n: HEAD + "---\n" + RUNTIME.replace("MessagePatterns: [PATTERN]", "Reasons: [BackoffLimitExceeded]").replace("image: a}]", "image: a, env: [" + ", ".join(f"{{name: A{i}, value: b}}" for i in range(n)) + "]}]"),
    "replicated jobs": lambda n: HEAD + "---\n" + RUNTIME.replace("MessagePatterns: [PATTERN]", "Reasons: [BackoffLimitExceeded]") + "".join(f"      - {{name: a{i}, template: {{spec: {{template: {{spec: {{containers: [{{name: a, image: a}}]}}}}}}}}}}\n" for i in range(n // 4)),
    "jobs": lambda n: "---\n".join(HEAD.replace("llm", f"l{i}") for i in range(n)),
}  # fmt: skip
_AMONG_NAMESPACES = (
    HEAD.replace("llm", "NAME").replace("team-a", "NAME")
    + """---
apiVersion: v1
kind: LimitRange
metadata: {name: l, namespace: NAME}
spec: {limits: [{type: Container, max: {cpu: 100}}]}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: q, namespace: NAME}
spec: {hard: {requests.cpu: 100}}
"""
)
_AMONG_JOBSETS = """apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: NAME, namespace: NAME}
spec: {replicatedJobs: [{name: a, template: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: NAME, namespace: NAME}
data: {a: b}
"""
# Jobs among as many other documents that each of them is looked up in, and the command that does.
AMONG: Mapping[str, tuple[str, Callable[[int], str]]] = {
    "objects": ("check", lambda n: "---\n".join(_AMONG_OBJECTS.replace("NAME", f"l{i}") for i in range(n))),
    "runtimes": ("check", lambda n: "---\n".join(_AMONG_RUNTIMES.replace("NAME", f"l{i}") for i in range(n))),
    "namespaces": (
        "fits --cluster jobs.yaml",
        lambda n: "---\n".join(_AMONG_NAMESPACES.replace("NAME", f"l{i}") for i in range(n)),
    ),
    "JobSets": ("check", lambda n: "---\n".join(_AMONG_JOBSETS.replace("NAME", f"l{i}") for i in range(n))),
}

FLAGS = ["--release", "2.3"]
_POLICY = """apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: pNAME}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [jobset.x-k8s.io], apiVersions: ["*"], operations: [CREATE], resources: [jobsets]}]}
  validations: [{expression: "EXPRESSION"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: pNAME}
spec: {policyName: pNAME, validationActions: [Deny]}
"""


def policy(name: object, expression: str) -> str:
    """A policy about JobSets with its binding, which denies."""
    return _POLICY.replace("NAME", str(name)).replace("EXPRESSION", expression)


# The other documents that grow: what each is called, and the command that reads it beside good.yaml.
BESIDE: Mapping[str, tuple[str, str, Callable[[int], str]]] = {
    "policies": ("p.yaml", "check good.yaml", lambda n: "---\n".join(policy(i, "object.spec != 1") for i in range(n))),
    "an expression": ("p.yaml", "check good.yaml", lambda n: policy(0, "true" + " && object.kind != 'a'" * n)),
    "a list in an expression": ("p.yaml", "check good.yaml", lambda n: policy(0, f"[{', '.join(['1'] * n)}].all(x, x == 1)")),
    "arguments that a policy denies": ("p.yaml", "check p.yaml", lambda n: policy(0, "object.spec.replicatedJobs.all(j, j.template.spec.template.spec.containers.all(c, c.args.all(a, a != 'b')))") + f"---\n{HEAD}  trainer: {{command: [x], args: [{'a, ' * n}b]}}\n"),
    "blanks in a variable": ("p.yaml", "check good.yaml", lambda n: policy(0, "variables.b == 1").replace("  validations", f"  variables: [{{name: a, expression: '1'}}, {{name: b, expression: 'variables{' ' * n}.a'}}]\n  validations")),
    "bindings beside namespaces": ("p.yaml", "check good.yaml", lambda n: "---\n".join([policy("", "true"), *(_SELECTING.replace("NAME", f"a{i}") for i in range(n))])),
    "bindings beside parameters": ("p.yaml", "check good.yaml", lambda n: "---\n".join([policy("", "true").replace("spec:\n", "spec:\n  paramKind: {apiVersion: v1, kind: ConfigMap}\n"), *(_WITH_PARAMETER.replace("NAME", f"a{i}") for i in range(n))])),
    "values of a sweep": ("s.yaml", "check s.yaml", lambda n: f"{_SWEEP}maxTrials: 5000\nparameters: {{a: [{', '.join(map(str, range(n)))}]}}\n"),
    "parameters of a sweep": ("s.yaml", "check s.yaml", lambda n: f"{_SWEEP}parameters: {{a: [1, 2], {', '.join(f'a{i}: [1]' for i in range(n // 2))}}}\n"),
    "trials of a sweep": ("s.yaml", "check s.yaml", lambda n: f"{_SWEEP}maxTrials: {n}\nparameters: {{a: {{min: 0, max: 1, count: {n}}}}}\n"),
    "rows of a sweep": ("s.yaml", "check s.yaml", lambda n: f"{_SWEEP}parameters: {{a: [1]}}\nexclude:\n" + "".join(f"- {{a: {i + 2}}}\n" for i in range(n))),
    "rules": ("trainc.yaml", "check good.yaml", lambda n: "rules:\n" + "".join(f"  jobs/{i}.yaml: {{UnknownField: info}}\n" for i in range(n))),
    "exclude": ("trainc.yaml", "check .", lambda n: "exclude:\n" + "".join(f"- jobs/{i}.yaml\n" for i in range(n))),
    "environments": ("trainc.yaml", "check", lambda n: "sources: [good.yaml]\nenvironments:\n" + "".join(f"  e{i}: {{}}\n" for i in range(n))),
    "fields of trainc.yaml": ("trainc.yaml", "check good.yaml", lambda n: "".join(f"a{i}: b\n" for i in range(n))),
    "patches of an overlay": ("overlay.yaml", "check good.yaml --overlay .", lambda n: _OVERLAY + "".join(_PATCH.replace("NAME", str(i)) for i in range(n))),
    "nodes": ("n.yaml", "fits good.yaml --cluster n.yaml", lambda n: CLUSTER + "".join("---\n" + _NODE.replace("NAME", f"n{i}") for i in range(n))),
    "queues": ("n.yaml", "fits good.yaml --cluster n.yaml", lambda n: CLUSTER + "".join("---\n" + _QUEUE.replace("NAME", f"q{i}") for i in range(n))),
    "lists by hand": ("n.yaml", "fits good.yaml --cluster n.yaml", lambda n: CLUSTER + "---\napiVersion: trainc/v1alpha1\nkind: Cluster\n" * n),
}  # fmt: skip
_BOUND = """apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: NAME}
spec: {policyName: p, validationActions: [Deny], """
_SELECTING: str = f"{_BOUND}matchResources: {{namespaceSelector: {{matchLabels: {{team: NAMEs}}}}}}}}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: NAME, labels: {{team: NAME}}}}\n"
_WITH_PARAMETER: str = f"{_BOUND}paramRef: {{name: NAMEs, namespace: x, parameterNotFoundAction: Deny}}}}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: NAME, namespace: x}}\n"
_SWEEP = "apiVersion: trainc/v1alpha1\nkind: Sweep\nbase: good.yaml\n"
_OVERLAY = "apiVersion: trainc/v1alpha1\nkind: Overlay\npatches:\n"
_PATCH = "- {target: {kind: TrainJob, name: llm}, patch: '[{op: add, path: /spec/trainer, value: {numNodes: NAME}}]'}\n"
# How each command is given a document FILE. These refuse whatever `build` refuses.
COMPILING: Mapping[str, list[str]] = {
    "build": ["build", "FILE", *FLAGS],
    "check": ["check", "FILE", *FLAGS, "--format", "text"],
    "explain": ["explain", "FILE", *FLAGS],
    "graph": ["graph", "FILE", *FLAGS],
    "report": ["report", "FILE", *FLAGS, "-o", "-"],
    "diff": ["diff", "good.yaml", "FILE", *FLAGS],
    "run": ["run", "FILE", *FLAGS],
    "fits": ["fits", "FILE", *FLAGS, "--cluster", "cluster.yaml"],
    "doctor": ["doctor", "FILE", *FLAGS, "--from", "cluster.yaml"],
}
# These may find nothing wrong with it; `krm` is given it on stdin.
REWRITING: Mapping[str, list[str]] = {
    "migrate": ["migrate", "--diff", "FILE"],
    "krm": ["krm"],
    "a cluster": ["fits", "good.yaml", *FLAGS, "--cluster", "FILE"],
    "what kubectl printed": ["doctor", "good.yaml", *FLAGS, "--from", "FILE"],
    "runtimes": ["build", "good.yaml", *FLAGS, "--runtimes", "FILE"],
}
_QUEUE = """apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: NAME}
spec: {namespaceSelector: {}, resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, resources: [{name: cpu, nominalQuota: 9}]}]}]}
"""
_NODE = """apiVersion: v1
kind: Node
metadata: {name: NAME}
status: {allocatable: {cpu: 8, pods: 110}, conditions: [{type: Ready, status: "True"}]}
"""
CLUSTER: str = f"""{_QUEUE.replace("NAME", "a")}---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {{name: a, namespace: team-a}}
spec: {{clusterQueue: a}}
---
{_NODE.replace("NAME", "a")}"""


def words_of(command: str) -> list[list[str]]:
    """A command for each small document."""
    words = {**COMPILING, **REWRITING}[command]
    return [[word.replace("FILE", f"{number}/job.yaml") for word in words] for number in range(len(SMALL))]


def written(root: Path) -> Path:
    """`root`, with a job, a cluster, and every small document, which is NUMBER/job.yaml."""
    (root / "good.yaml").write_text(HEAD, encoding="utf-8")
    (root / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
    for number, (content, _) in enumerate(SMALL.values()):
        (root / str(number)).mkdir()
        data = content.encode() if isinstance(content, str) else content
        (root / str(number) / "job.yaml").write_bytes(data)
    return root


def beside(root: Path, what: str, count: int) -> list[str]:
    """`root`, with another document that grows, and what it needs; the command that reads it."""
    name, command, content = BESIDE[what]
    (root / "good.yaml").write_text(HEAD, encoding="utf-8")
    (root / "trainc.yaml").write_text("policies: [p.yaml]\n" if name == "p.yaml" else "{}\n", encoding="utf-8")
    (root / name).write_text(content(count), encoding="utf-8")
    return [*command.split(), *FLAGS]
