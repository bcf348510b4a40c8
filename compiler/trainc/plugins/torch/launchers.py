"""Torch's launchers: torchrun, the programs that use its parser, accelerate and DeepSpeed.

Source: pytorch torch/distributed/run.py (get_args_parser); huggingface/accelerate commands/launch.py; deepspeed
launcher/runner.py; pytorch/torchtune torchtune/_cli/run.py.
"""

from __future__ import annotations

from trainc.ir.commands.launcher import Launcher, Starting

_MEET = frozenset(("master-addr", "rdzv-endpoint"))

TORCHRUN = Launcher(
    name="torchrun",
    programs=("torchrun",),
    modules=("torch.distributed.run", "torch.distributed.launch"),
    flags=frozenset(("standalone", "module", "m", "no-python", "run-path", "help", "h", "use-env")),
    nodes=frozenset(("nnodes",)),
    per_node=frozenset(("nproc-per-node",)),
    rank=frozenset(("node-rank",)),
    address=_MEET,
    port=frozenset(("master-port",)),
    alone=frozenset(("standalone",)),
    reads="PET_",
)
TUNE = Launcher(
    name="tune run",
    programs=("tune",),
    subcommands=("run",),
    flags=TORCHRUN.flags,
    nodes=TORCHRUN.nodes,
    per_node=TORCHRUN.per_node,
    rank=TORCHRUN.rank,
    address=TORCHRUN.address,
    port=TORCHRUN.port,
    alone=TORCHRUN.alone,
    # It makes torchrun --standalone without one, and without any option starts one process (_is_distributed_args).
    together=frozenset(("rdzv-endpoint",)),
    reads="PET_",
)
ACCELERATE = Launcher(
    name="accelerate launch",
    programs=("accelerate", "accelerate-launch"),
    modules=("accelerate.commands.launch",),
    subcommands=("launch",),
    flags=frozenset(
        (
            *("multi-gpu", "cpu", "tpu", "mps", "ipex", "use-xpu", "use-deepspeed", "use-fsdp", "use-megatron-lm"),
            *("same-network", "module", "m", "no-python", "debug", "quiet", "q", "use-cpu-affinity", "use-mps-device"),
            *("enable-cpu-affinity", "use-parallelism-config", "tpu-cluster", "no-tpu-cluster", "use-tpu-vm"),
            *("use-tp", "dynamo-use-dynamic", "dynamo-use-fullgraph", "downcast-bf16", "help", "h"),
        )
    ),
    nodes=frozenset(("num-machines",)),
    total=frozenset(("num-processes",)),
    rank=frozenset(("machine-rank",)),
    address=frozenset(("main-process-ip",)),
    port=frozenset(("main-process-port",)),
    own_way=frozenset(
        ("config-file", "rdzv-backend", "rdzv-conf", "deepspeed-hostfile", "deepspeed-multinode-launcher")
    ),
)
DEEPSPEED = Launcher(
    name="deepspeed",
    programs=("deepspeed", "ds"),
    modules=("deepspeed.launcher.runner",),
    flags=frozenset(
        (
            *("no-ssh", "no-ssh-check", "force-multi", "module", "no-python", "no-local-rank", "save-pid", "help", "h"),
            *("elastic-training", "bind-cores-to-rank"),
        )
    ),
    nodes=frozenset(("num-nodes",)),
    per_node=frozenset(("num-gpus",)),
    rank=frozenset(("node-rank",)),
    address=frozenset(("master-addr",)),
    port=frozenset(("master-port",)),
    hosts=frozenset(("hostfile", "h", "H")),
    own_way=frozenset(("no-ssh", "launcher", "include", "i")),
    reaches="hosts",
)
STARTING = Starting((TORCHRUN, TUNE, ACCELERATE, DEEPSPEED), needed=True)
