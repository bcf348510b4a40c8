"""Show the commands and topics, the help of one command, or one topic.

Examples:
  trainc help
  trainc help build
  trainc help sync-options
"""

from __future__ import annotations

import os
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator, Sequence

from trainc.cli.command import (
    COMMANDS,
    GROUPS,
    Arguments,
    Status,
    Streams,
    UsageError,
    add_input,
    add_limits,
    add_shaping,
    build_parser,
    set_completion,
    topic_options,
)

# The topics of `trainc help`: what concerns several commands, and options that are rarely given.


# The commands of the first screen, as one meets them.
_USUAL = ("new", "check", "build", "diff", "explain", "graph", "fits", "report", "rule", "init")
# Topic -> its line among the commands.
TOPICS = {
    "commands": "all commands and topics, in a line each",
    "input": "what is read: paths, runtimes, overlays, trainc.yaml",
    "output": "where manifests go, and which files trainc replaces or deletes",
    "delivery": "Argo CD, Flux or kubectl; secrets; name hashes",
    "sync-options": "what each sync option does to a running job",
    "sweeps": "one TrainJob for each combination of values",
    "dump": "a dump of the cluster, for `diff --live`, `why` and `import`",
    "limits": "bounds on the size and complexity of input",
    "diagnostics": "severities, colors, and formats for CI",
    "exit-codes": "what the exit code of a command means",
}
_TEXTS = {
    "input": """\
PATH is a file, a folder or - for stdin. Folders are searched for .yaml, .yml and .json files in sorted order;
hidden folders and the output folder are skipped. Without PATH, trainc reads the `sources` of trainc.yaml, or
the current folder if there is none.

A TrainJob's runtime is looked up in the same input, then in each --runtimes folder, then in the built-in catalog
(`trainc runtimes list`). The first match wins.

trainc.yaml is looked up in the current folder and its parents, no further than the folder with .git.
Options on the command line override overlays, and overlays override trainc.yaml.

--release accepts any spelling of a Trainer release: 2.3, v2.3 and 2.3.1 are the same. If neither it nor
trainc.yaml sets one, the newest is used.

These options go with every command that compiles:
""",
    "output": """\
Manifests go to stdout, diagnostics to stderr. If there is any error, no manifest is written at all, so
`kubectl apply -f <(trainc build .)` is safe.

With -o DIR each TrainJob gets one file, DIR/NAMESPACE/NAME.yaml. Its first line says what it was compiled from.
trainc only ever replaces or deletes files that start with that line; delete the line to keep a file as your own.

Files of jobs that no longer exist are deleted if the build covers everything that trainc.yaml lists, or with
--prune. A build of selected PATHs keeps them, and prints to stdout unless -o is given. A source that exists, but of
which nothing was read, is an error (trainc rule SourceSkipped), and nothing is deleted.

With `rebuild: changed-jobs` in trainc.yaml, the file of a job stays as it was built while its TrainJob, after overlays,
is the same; a changed runtime or release reaches it with --rebuild NAME. NAME is a job, NAMESPACE/NAME, a glob such as
'nlp/*', or all. --keep NAME keeps the file of a job that would be compiled.

--check writes nothing and exits with 1 if DIR is out of date. A kept file has to be as it is in HEAD or, with --base
REV, as it was where the branch left REV; so has a file that trainc did not write. --base none trusts all files. The update is all-or-nothing: after an
interrupted build, run `trainc build` again.
""",
    "delivery": """\
How the output gets to the cluster. These options go with every command that compiles, and have an effect
with --semantics gitops (the default) only:
""",
    "sync-options": """\
--sync-option NAME sets a sync option on the objects of a job, for the tool that --delivery names. `=true` may be
left out. This is what each one does to a job that is already running:
""",
    "sweeps": """\
A Sweep in the input stands for one TrainJob per combination of values:

  apiVersion: trainc/v1alpha1
  kind: Sweep
  base: jobs/llm.yaml                                        the TrainJob, as PATH[#[NAMESPACE/]NAME]
  parameters:
    lr: {min: 1e-5, max: 1e-3, count: 3, scale: log}         1e-05, 0.0001, 0.001
    batch: [16, 32]                                          or {min: 16, max: 64, step: 16}
  exclude: [{lr: 1e-3, batch: 16}]                           combinations to skip
  include: [{lr: 1e-2, batch: 64}]                           additional combinations, after the others
  maxTrials: 20                                              default: 100
  budget: {gpuHours: 512, hoursPerTrial: 4}                  more is an error

Its trials are compiled instead of the base. They are called NAME-trial-0, NAME-trial-1 and so on; NAME is that of the
base, or metadata.name of the sweep. Commands about one job also take FILE#NAME#3 for trial 3.

Programs get the values in environment variables such as KUBEFLOW_TRAINER_OPT_LR, as in a trial of Trainer's
OptimizationJob. In the base, ${trialParameters.lr} and ${trialSpec.Name} are replaced with the value and the name.

An OptimizationJob with searchAlgorithm: {grid: {}} is a sweep, too.

Without `base`, the TrainJob is in the file of the sweep. The hours of a trial are its activeDeadlineSeconds, or
hoursPerTrial if that is less.
""",
    "dump": """\
`trainc diff --live FILE`, `trainc why --dump FILE` and `trainc import FILE` read what kubectl prints. trainc never asks a
cluster itself:

  kubectl get jobsets.jobset.x-k8s.io,trainjobs.trainer.kubeflow.org,trainingruntimes.trainer.kubeflow.org,\
clustertrainingruntimes.trainer.kubeflow.org,workloads.kueue.x-k8s.io,clusterqueues.kueue.x-k8s.io,\
localqueues.kueue.x-k8s.io,workloadpriorityclasses.kueue.x-k8s.io,podgroups.scheduling.x-k8s.io,\
jobs.batch,configmaps,pods,events -A -o yaml --show-managed-fields > live.yaml

Leave out what the cluster does not have: kubectl then says that it "doesn't have a resource type". With Volcano, add
podgroups.scheduling.volcano.sh; for jobs of Training Operator v1, their kinds, such as pytorchjobs.kubeflow.org. With
the other objects of `trainc fits` (docs/fits.md), a job that waits gets its verdict as well. Instead of -A, name a
namespace with -n. FILE may be - for stdin. A large dump is read faster with -o json.

Leave Secrets out: they are not needed, and trainc does not read them. Only --show-managed-fields tells who changed a
field. Without Workloads, pods and events the dump does not say why a job waits. What else is missing from a
dump is named as unknown; nothing is concluded from it.
""",
    "limits": """\
Bounds that keep broken or malicious input from using up time and memory. Input beyond a limit is an error.
These options go with every command that reads files:
""",
    "diagnostics": """\
error     the cluster would reject it, or the job is certain to fail or hang; nothing is written
warning   most likely a mistake
info      worth knowing

`trainc rule CODE` explains the code in brackets. -q shows errors only. `trainc check --format github` annotates
pull requests, `--format sarif` feeds code scanning, and `--format json` is for scripts.

Output to a terminal is colored, unless NO_COLOR is set; FORCE_COLOR=1 colors any output, and
--color always or never overrides both.
""",
    "exit-codes": """\
0    success
1    the input has errors, or --check or --exit-code found a difference
2    wrong usage: unknown options, or options that contradict each other
3    a bug in trainc; please report it
130  interrupted with Ctrl-C
141  the reader of the output went away
143  ended by SIGTERM, as CI does after its time limit
""",
}
_OPTIONS = {"input": add_input, "delivery": add_shaping, "limits": add_limits}
_INDENTED = 72


def topic_text(topic: str) -> str:
    """The page of a topic."""
    options = topic_options(topic, _OPTIONS[topic]) if topic in _OPTIONS else ""
    listed = "".join(f"{line}\n" for line in _sync_options()) if topic == "sync-options" else ""
    return "\n".join(part for part in (_TEXTS[topic], options, listed) if part)


def _sync_options() -> Iterator[str]:
    """Every sync option with its effect, by tool."""
    from trainc.kube.sync_options import sync_options_of

    for tool, title in (("argocd", "Argo CD"), ("flux", "Flux")):
        yield f"{title}:"
        for option in sync_options_of(tool):
            yield f"  {option.name}"
            yield from (f"      {line}" for line in _fill(option.effect, _INDENTED))


def _fill(text: str, width: int) -> Iterator[str]:
    """Wrap `text` to lines of at most `width` characters. Importing textwrap takes longer than compiling a job."""
    line = ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > width:
            yield line
            line = ""
        line = f"{line} {word}" if line else word
    yield line


_HEAD = """\
trainc compiles Kubeflow TrainJobs and training runtimes, offline, into the JobSet, PodGroup and ConfigMap
manifests that run on a cluster. The output is deterministic: commit it, review it, let Argo CD or Flux apply it.

Usage: trainc COMMAND [OPTION ...] [ARGUMENT ...]

"""
_TAIL = """
Getting started:
  trainc build train.yaml                   print the manifests of one TrainJob
  trainc build jobs/ -o rendered/           write one file per TrainJob
  trainc build jobs/ -o rendered/ --check   fail if rendered/ is out of date (for CI)
  trainc check jobs/                        report mistakes without writing anything
  trainc rule UnknownField                  explain a diagnostic code

Run `trainc help COMMAND` or `trainc help TOPIC` for details.
"""
# Names from other tools, by what they are here.
_MEANT = {
    word: meant
    for meant, words in {
        "build": "compile generate make render template",
        "check": "lint preflight test validate verify vet",
        "cmp": "argocd",
        "delivery": "argo flux secret secrets",
        "diagnostics": "errors ignore",
        "diff": "compare drift plan",
        "explain": "blame show trace why",
        "fits": "admission gpu gpus kueue queue quota schedule",
        "graph": "draw visualize",
        "import": "adopt",
        "init": "create new scaffold",
        "input": "settings",
        "krm": "kustomize",
        "migrate": "convert upgrade",
        "report": "dashboard html",
        "rule": "codes",
        "run": "exec local simulate start",
        "runtimes": "catalog list",
        "version": "info",
    }.items()
    for word in words.split()
}
# What other programs do, and how.
_ELSEWHERE = {
    **dict.fromkeys(
        ("apply", "submit", "launch", "deploy"),
        "trainc starts no job; pipe its output: trainc build FILE | kubectl apply --server-side -f -",
    ),
    **dict.fromkeys(
        ("delete", "cancel", "kill", "get", "status", "logs"),
        "kubectl does that, with the names that `trainc graph FILE` prints",
    ),
    **dict.fromkeys(("rollback", "revert", "undo"), "git does that: git revert COMMIT, then trainc build"),
}
_FILES = (".yaml", ".yml", ".json")


def add_arguments(parser: ArgumentParser) -> None:
    """Add the argument for a command or topic."""
    set_completion(parser.add_argument("topic", metavar="TOPIC", nargs="?", help="a command or a topic"), "topic")


def run(arguments: Arguments, streams: Streams) -> Status:
    """Print the requested page."""
    streams.write(_page(arguments.topic))
    return Status.DONE


def _page(topic: str | None) -> str:
    if topic is None:
        return overview()
    for command in COMMANDS:
        if command.name == topic:
            return build_parser(command).format_help()
    if topic not in TOPICS:
        from trainc.findings.text import did_you_mean

        topics = [*(command.name for command in COMMANDS), *TOPICS]
        meant = _MEANT.get(topic.lower())
        hint = f"did you mean `trainc help {meant}`?" if meant in topics else did_you_mean(topic, topics)
        raise UsageError(f"no help for {topic!r}; {hint or '`trainc help` lists the topics'}")
    return _all_commands() if topic == "commands" else topic_text(topic)


def overview() -> str:
    """The commands that most people need, the topics by name, and how to get started."""
    usual = [(command.name, command.summary) for name in _USUAL for command in COMMANDS if command.name == name]
    more = f"{len(COMMANDS) - len(usual)} more: trainc help commands"
    topics = f"Topics: {', '.join(name for name in TOPICS if name != 'commands')}\n"
    return f"{_HEAD}{_listed('Commands', usual)}  {more}\n\n{topics}{_TAIL}"


def _all_commands() -> str:
    groups = ((title, [(c.name, c.summary) for c in COMMANDS if c.group == group]) for group, title in GROUPS.items())
    listed = (*groups, ("Topics", TOPICS.items()))
    return "\n".join(_listed(title, rows) for title, rows in listed)


def _listed(title: str, rows: Iterable[tuple[str, str]]) -> str:
    return "".join((f"{title}:\n", *(f"  {name:<12}  {summary}\n" for name, summary in rows)))


def unknown_command(command_line: Sequence[str]) -> str:
    """The message for an unknown command, with a suggestion if there is an obvious one."""
    from trainc.findings.text import did_you_mean

    first, names = command_line[0], [command.name for command in COMMANDS]
    if first.startswith("-"):
        option = first.partition("=")[0]
        hint = did_you_mean(option, ("--help", "--version"))
        return f"unknown option {option!r}; {hint or f'it is for a command, as in `trainc build {option}`'}"
    if os.sep in first or first.endswith(_FILES):
        return f"unknown command {first!r}; to compile that path: trainc build {first}"
    if first.lower() in _ELSEWHERE:
        return f"unknown command {first!r}; {_ELSEWHERE[first.lower()]}"
    meant = _MEANT.get(first.lower())
    hint = f"did you mean {meant}?" if meant in names else did_you_mean(first, names)
    if meant in TOPICS:
        hint = f"read about it: trainc help {meant}"
    return f"unknown command {first!r}; {hint or '`trainc help` lists the commands'}"
