"""Torch's launchers: torchrun, the programs that use its parser, accelerate and DeepSpeed.

Source: pytorch torch/distributed/run.py (get_args_parser, up to 2.15); huggingface/accelerate commands/launch.py (1.15);
deepspeed launcher/runner.py (0.19); pytorch/torchtune torchtune/_cli/run.py (0.6.1).
"""

from __future__ import annotations

from trainc.ir.commands.programs import Launcher, OptionsOfFile, Starting, taking
from trainc.startup.records import replace

_MEET = frozenset(("master-addr", "rdzv-endpoint"))
_TORCHRUN = taking(
    flags="standalone module m no-python run-path virtual-local-rank help h use-env",
    nodes="nnodes",
    processes="nproc-per-node",
    backend="rdzv-backend",
    port="master-port",
    count="max-restarts",
    integer="node-rank shutdown-timeout",
    number="monitor-interval",
    text="""
        rdzv-endpoint rdzv-id rdzv-conf event-log-handler role log-dir redirects r tee t local-ranks-filter
        duplicate-stdout-filters duplicate-stderr-filters log-line-prefix-template master-addr local-addr logs-specs
        signals-to-handle
    """,
    **{"spawn fork forkserver": "start-method", "node socket exclusive core-complex": "numa-binding"},
)


TORCHRUN = Launcher(
    name="torchrun",
    programs=("torchrun",),
    modules=("torch.distributed.run", "torch.distributed.launch"),
    options=_TORCHRUN,
    nodes=frozenset(("nnodes",)),
    per_node=frozenset(("nproc-per-node",)),
    rank=frozenset(("node-rank",)),
    address=_MEET,
    port=frozenset(("master-port",)),
    alone=frozenset(("standalone",)),
    reads="PET_",
)
TUNE = replace(
    TORCHRUN,
    name="tune run",
    programs=("tune",),
    modules=("torchtune._cli.tune run",),
    subcommands=("run",),
    commands=("download", "ls", "cp", "run", "validate", "cat"),
)
ACCELERATE = Launcher(
    name="accelerate launch",
    programs=("accelerate", "accelerate-launch"),
    modules=("accelerate.commands.launch", "accelerate.commands.accelerate_cli launch"),
    subcommands=("launch",),
    commands=tuple("config estimate-memory env launch merge-weights tpu-config test to-fsdp2 estimate merge".split()),
    options=OptionsOfFile(__file__, "accelerate"),
    abbreviates=False,
    nodes=frozenset(("num-machines",)),
    total=frozenset(("num-processes",)),
    rank=frozenset(("machine-rank",)),
    address=frozenset(("main-process-ip",)),
    port=frozenset(("main-process-port",)),
    own_way=frozenset(
        "config-file rdzv-backend rdzv-conf deepspeed-hostfile deepspeed-multinode-launcher mpirun-hostfile".split()
    ),
)
DEEPSPEED = Launcher(
    name="deepspeed",
    programs=("deepspeed", "ds"),
    modules=("deepspeed.launcher.runner",),
    options=OptionsOfFile(__file__, "deepspeed"),
    dashes=False,
    nodes=frozenset(("num-nodes",)),
    per_node=frozenset(("num-gpus", "num-accelerators")),
    rank=frozenset(("node-rank",)),
    address=frozenset(("master-addr",)),
    port=frozenset(("master-port",)),
    hosts=frozenset(("hostfile", "H")),
    own_way=frozenset(("no-ssh", "launcher", "include", "i")),
    reaches="hosts",
)
# Others with the options of torch.distributed.launch and further ones (intelligent-machine-learning/dlrover
# dlrover/trainer/torch/elastic_run.py; BaguaSys/bagua bagua/distributed/launch.py; Oneflow-Inc/oneflow
# python/oneflow/distributed/launch.py), that of MindSpore (mindspore/parallel/cluster/run.py), and mit-han-lab/torchpack.
_ALIKE = (
    replace(TORCHRUN, name="dlrover-run", programs=("dlrover-run",), modules=("dlrover.trainer.torch.elastic_run",)),
    replace(TORCHRUN, name="bagua.distributed.launch", programs=(), modules=("bagua.distributed.launch",), reads=""),
    replace(
        TORCHRUN, name="oneflow.distributed.launch", programs=(), modules=("oneflow.distributed.launch",), reads=""
    ),
    replace(
        TORCHRUN,
        name="msrun",
        programs=("msrun",),
        modules=(),
        reads="",
        per_node=frozenset(("local-worker-num",)),
        total=frozenset(("worker-num",)),
    ),
    replace(
        TORCHRUN,
        name="torchpack dist-run",
        programs=("torchpack",),
        modules=(),
        subcommands=("dist-run",),
        reads="",
        nodes=frozenset(),
        per_node=frozenset(),
        total=frozenset(("np", "nproc")),
        hosts=frozenset(("H", "hosts")),
        reaches="hosts",
    ),
)
_FLAGS = frozenset(
    "m module no-python standalone v verbose network-check auto-config auto-tunning exclude-straggler save-at-breakpoint"
    " numa-affinity comm-perf-test run-path set-additional-flag is-output-autotune-log report-metrics enable-bagua-net"
    " redirect-stdout-and-stderr".split()
)
STARTING = Starting(
    (TORCHRUN, TUNE, ACCELERATE, DEEPSPEED, *(replace(one, options={}, flags=_FLAGS) for one in _ALIKE)), needed=True
)
