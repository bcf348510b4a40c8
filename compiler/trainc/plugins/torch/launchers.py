"""Torch's launchers: torchrun, the programs that use its parser, accelerate and DeepSpeed.

Source: pytorch torch/distributed/run.py (get_args_parser, up to 2.15); huggingface/accelerate commands/launch.py (1.15);
deepspeed launcher/runner.py (0.19); pytorch/torchtune torchtune/_cli/run.py (0.6.1).
"""

from __future__ import annotations

from trainc.ir.commands.programs import Launcher, Starting, taking
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
        numa-binding signals-to-handle
    """,
    **{"spawn fork forkserver": "start-method"},
)
_ACCELERATE = taking(
    flags="""
        help h quiet q cpu multi-gpu tpu enable-cpu-affinity dynamo-use-fullgraph dynamo-use-dynamic
        dynamo-use-regional-compilation use-deepspeed use-fsdp use-parallelism-config use-megatron-lm same-network
        module m no-python tpu-cluster no-tpu-cluster tpu-use-sudo downcast-bf16 fp8-use-autocast-during-eval debug
        use-xpu ipex mps use-mps-device use-tp
    """,
    port="main-process-port",
    count="max-restarts",
    integer="""
        num-processes num-machines num-cpu-threads-per-process machine-rank zero-stage
        gradient-accumulation-steps fsdp-min-num-params megatron-lm-tp-degree megatron-lm-pp-degree
        megatron-lm-decoder-last-pipeline-num-layers megatron-lm-num-micro-batches
        megatron-lm-recompute-num-layers megatron-lm-expert-model-parallel-size megatron-lm-context-parallel-size
        megatron-lm-expert-tensor-parallel-size fp8-margin fp8-interval fp8-amax-history-len
        parallelism-config-dp-replicate-size parallelism-config-dp-shard-size parallelism-config-tp-size
        parallelism-config-cp-size parallelism-config-sp-size
    """,
    number="""
        monitor-interval gradient-clipping megatron-lm-gradient-clipping megatron-lm-attention-dropout
        megatron-lm-hidden-dropout
    """,
    text="""
        config-file dynamo-backend dynamo-mode gpu-ids main-process-ip tee t log-dir role rdzv-backend rdzv-conf vm env
        main-training-function tp-size deepspeed-config-file offload-optimizer-device offload-param-device
        offload-optimizer-nvme-path offload-param-nvme-path zero3-init-flag zero3-save-16bit-model deepspeed-hostfile
        deepspeed-exclusion-filter deepspeed-inclusion-filter deepspeed-multinode-launcher
        deepspeed-moe-layer-cls-names fsdp-offload-params fsdp-sharding-strategy fsdp-reshard-after-forward
        fsdp-auto-wrap-policy fsdp-transformer-layer-cls-to-wrap fsdp-backward-prefetch fsdp-state-dict-type
        fsdp-backward-prefetch-policy fsdp-forward-prefetch fsdp-use-orig-params fsdp-cpu-ram-efficient-loading fsdp-sync-module-states
        fsdp-activation-checkpointing megatron-lm-use-custom-fsdp megatron-lm-no-load-optim
        megatron-lm-eod-mask-loss megatron-lm-overlap-cpu-optimizer-d2h-h2d megatron-lm-no-save-optim
        megatron-lm-optimizer-cpu-offload megatron-lm-use-precision-aware-optimizer
        megatron-lm-sequence-parallelism megatron-lm-recompute-activations megatron-lm-use-distributed-optimizer
        megatron-lm-recompute-granularity megatron-lm-recompute-method megatron-lm-attention-backend
        megatron-lm-attention-softmax-in-fp32 megatron-lm-calculate-per-token-loss
        megatron-lm-use-rotary-position-embeddings fp8-override-linear-precision fp8-enable-fsdp-float8-all-gather
        fp8-pad-inner-dim aws-access-key-id aws-secret-access-key mpirun-hostfile mpirun-ccl
        parallelism-config-cp-backend parallelism-config-cp-comm-strategy parallelism-config-sp-backend
        parallelism-config-sp-seq-length parallelism-config-sp-seq-length-is-variable
        parallelism-config-sp-attn-implementation
    """,
    **{
        "no fp16 bf16 fp8": "mixed-precision",
        "1 2": "fsdp-version",
        "ao te msamp": "fp8-backend",
        "HYBRID E4M3 E5M2": "fp8-format",
        "max most_recent": "fp8-amax-compute-algo",
        "O1 O2": "fp8-opt-level",
    },
)
_DEEPSPEED = taking(
    flags="""
        module no-python no-local-rank no-ssh no-ssh-check force-multi save-pid elastic-training enable-elastic-training bind-cores-to-rank quiet q
        help h
    """,
    integer="num-nodes min-elastic-nodes max-elastic-nodes num-gpus num-accelerators node-rank ssh-port",
    port="master-port",
    text="""
        hostfile H include i exclude e master-addr launcher launcher-args enable-each-rank-log bind-core-list venv-script
    """,
    **{"tune run": "autotuning", "debug info warning error critical": "log-level"},
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
    # It makes torchrun --standalone without one, and without any option starts one process (_is_distributed_args).
    together=frozenset(("rdzv-endpoint",)),
)
ACCELERATE = Launcher(
    name="accelerate launch",
    programs=("accelerate", "accelerate-launch"),
    modules=("accelerate.commands.launch", "accelerate.commands.accelerate_cli launch"),
    subcommands=("launch",),
    commands=tuple("config estimate-memory env launch merge-weights tpu-config test to-fsdp2 estimate merge".split()),
    options=_ACCELERATE,
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
    options=_DEEPSPEED,
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
STARTING = Starting((TORCHRUN, TUNE, ACCELERATE, DEEPSPEED), needed=True)
