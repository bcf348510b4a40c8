"""Which tables a job names: by its programs, the options that only one of them has, its files, and its variables.

A module, because every job asks, and nearly none of them names anything: then no table is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache

# The programs of each table: names of programs, with their first argument or without, of scripts, and of modules.
_PROGRAMS: Mapping[str, str] = {
    "accelerate": "accelerate launch",
    "deepspeed": "deepspeed",
    "mpirun": "mpirun",
    "horovodrun": "horovodrun",
    "composer": "composer",
    "llamafactory": "llamafactory-cli train | lmf train",
    "llamafactory_export": "llamafactory-cli export",
    "swift": "swift sft | swift rlhf | swift pt | megatron sft | megatron pt | megatron rlhf",
    "trl_grpo": "trl grpo",
    "trl_dpo": "trl dpo",
    "trl_sft": "trl sft",
    "trl_kto": "trl kto",
    "trl_cli": "trl sft | trl dpo | trl grpo | trl kto | trl reward | trl rloo | trl ppo",
    "axolotl": "axolotl train | axolotl | axolotl.cli.train | axolotl.cli.preprocess",
    "colossalai": "colossalai run | colossalai",
    "fabric": "fabric run | fabric | lightning run",
    "fairseq": "fairseq-train | fairseq-hydra-train",
    "lightning": "nemo",
    "dask_cuda": "dask-cuda-worker | dask cuda",
    "neox": "deepy.py",
    "openmmlab": "dist_train.sh | slurm_train.sh",
    "verl_ppo": "verl.trainer.main_ppo | verl.trainer.main_ppo.py",
    "verl_sft": "verl.trainer.fsdp_sft_trainer",
    "torchtitan": "torchtitan.train",
    "mlx": "mlx_lm.lora | mlx_lm lora",
    "ultralytics": "yolo train | yolo detect | yolo segment | yolo",
    "nccl_tests": "all_reduce_perf | all_gather_perf | reduce_scatter_perf | alltoall_perf | sendrecv_perf | broadcast_perf",
}
# Parts of their names.
_PATTERNS: Mapping[str, str] = {
    "openrlhf_ppo": "openrlhf.cli.train_ppo",
    "openrlhf": "openrlhf.cli",
    "diffusers": "train_dreambooth | train_text_to_image | train_controlnet",
    "megatron": "pretrain_gpt | pretrain_bert | pretrain_t5 | pretrain_llama | pretrain_mamba | finetune_gpt",
    "verl": "verl.trainer",
    "maxtext": "MaxText | maxtext",
    "llmfoundry": "llmfoundry",
    "fairseq": "fairseq_cli",
    "trl_grpo": "grpo",
    "trl_sft": "trl/scripts/sft | trl.scripts.sft",
    "trl_dpo": "trl/scripts/dpo | trl.scripts.dpo",
    "trl_kto": "trl/scripts/kto | trl.scripts.kto",
    "torchtune": "finetune_distributed | finetune_single_device | lora_finetune_ | full_finetune_ | qat_distributed | lora_dpo_ | full_dpo_ | knowledge_distillation_ | ppo_full_finetune_",
}
# Options and keys that no other program has.
_ANCHORS: Mapping[str, str] = {
    "transformers": "per_device_train_batch_size | dataloader_num_workers | load_best_model_at_end | gradient_checkpointing_kwargs | per_device_eval_batch_size | lr_scheduler_type | eval_strategy | evaluation_strategy | save_strategy",
    "trl_grpo": "num_generations",
    "trl_sft": "lora_target_modules | use_peft",
    "llamafactory_arguments": "finetuning_type",
    "megatron": "tensor_model_parallel_size | pipeline_model_parallel_size",
    "openrlhf": "micro_train_batch_size",
    "openrlhf_ppo": "vllm_num_engines",
    "verl_ppo": "actor_rollout_ref.model.path",
    "verl_sft": "ulysses_sequence_parallel_size",
    "maxtext": "ici_fsdp_parallelism | ici_tensor_parallelism | dcn_data_parallelism",
    "diffusers": "instance_data_dir",
    "llama_recipes": "enable_fsdp",
    "torch_script": "dist_backend | ddp_backend | distributed_backend | workers | num_workers | dataloader_num_workers",
    "xgboost": "tree_method",
    "lightning": "trainer.accelerator | trainer.devices | trainer.strategy | trainer.gpus",
    "finetrainers": "dp_shards | dp_degree",
    "devices": "gpu_ids | gpu_id | gpus | device | devices",
    "openmmlab_train": "auto_scale_lr",
    "optimum_habana": "use_habana | gaudi_config_name | use_lazy_mode",
    "torchtitan": "parallelism.data_parallel_shard_degree | parallelism.tensor_parallel_degree | training.tensor_parallel_degree",
}
# Files by their keys: a file has one of each group.
_FILES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("accelerate", ("distributed_type compute_environment", "num_processes num_machines mixed_precision machine_rank")),
    (
        "neox",
        (
            "pipe_parallel_size pipe-parallel-size model_parallel_size model-parallel-size",
            "num_layers num-layers train_iters train-iters",
        ),
    ),
    (
        "ds_config",
        (
            "zero_optimization train_micro_batch_size_per_gpu zero_allow_untested_optimizer",
            "zero_optimization fp16 bf16 optimizer train_batch_size gradient_accumulation_steps train_micro_batch_size_per_gpu",
        ),
    ),
    ("verl_ppo", ("actor_rollout_ref",)),
    ("nanotron", ("tokens", "parallelism", "checkpoints general")),
    ("torchtitan", ("parallelism training", "job model", "optimizer training activation_checkpoint")),
    (
        "llmfoundry",
        ("device_train_microbatch_size device_train_batch_size global_train_batch_size", "max_duration train_loader"),
    ),
    ("axolotl", ("base_model", "micro_batch_size datasets sequence_len num_epochs")),
    ("llamafactory_arguments", ("finetuning_type", "stage")),
    ("trl_grpo", ("num_generations", "model_name_or_path")),
    (
        "lightning",
        (
            "trainer",
            "trainer.devices trainer.num_nodes trainer.max_epochs trainer.strategy trainer.max_steps trainer.accelerator",
        ),
    ),
    (
        "transformers",
        ("per_device_train_batch_size gradient_accumulation_steps", "output_dir learning_rate model_name_or_path"),
    ),
    ("maxtext", ("ici_fsdp_parallelism ici_tensor_parallelism dcn_data_parallelism",)),
)
# Variables that a row is about.
_VARIABLES = frozenset(
    """
    ACCELERATE_DEEPSPEED_ZERO_STAGE ACCELERATE_MIXED_PRECISION ACCELERATE_USE_DEEPSPEED ACCELERATE_USE_FSDP
    AWS_ENDPOINT_URL AWS_ENDPOINT_URL_S3 CCL_NET_GDR_LEVEL CLEARML_API_HOST COMET_URL_OVERRIDE
    CUDA_DEVICE_MAX_CONNECTIONS CUDA_DEVICE_ORDER CUDA_LAUNCH_BLOCKING CUDA_MODULE_LOADING CUDA_VISIBLE_DEVICES
    DS_ACCELERATOR FI_EFA_USE_DEVICE_RDMA FI_PROVIDER FSDP_SHARDING_STRATEGY GLOO_SOCKET_IFNAME
    HABANA_VISIBLE_DEVICES HF_ACCESS_TOKEN HF_API_TOKEN HF_DATASETS_CACHE HF_DATASETS_OFFLINE HF_ENDPOINT HF_HOME
    HF_HUB_CACHE HF_HUB_DOWNLOAD_TIMEOUT HF_HUB_ENABLE_HF_TRANSFER HF_HUB_ETAG_TIMEOUT HF_HUB_OFFLINE
    HSA_OVERRIDE_GFX_VERSION HTTPS_PROXY HTTP_PROXY HUGGINGFACEHUB_API_TOKEN HUGGINGFACE_HUB_TOKEN HUGGINGFACE_TOKEN
    HUGGING_FACE_TOKEN I_MPI_FABRICS JAX_COORDINATOR_ADDRESS JAX_DISTRIBUTED_INITIALIZATION_TIMEOUT_SECONDS
    JAX_ENABLE_X64 JAX_PLATFORMS JAX_PLATFORM_NAME KMP_AFFINITY LIBTPU_INIT_ARGS MASTER_ADDR MASTER_PORT
    MLFLOW_TRACKING_URI NCCL_COMM_ID NCCL_CROSS_NIC NCCL_DEBUG_SUBSYS NCCL_IB_DISABLE NCCL_IB_HCA
    NCCL_IB_QPS_PER_CONNECTION NCCL_IB_RETRY_CNT NCCL_IB_SL NCCL_IB_TC NCCL_IB_TIMEOUT NCCL_MIN_NCHANNELS NCCL_NET
    NCCL_NET_GDR_LEVEL NCCL_NET_PLUGIN NCCL_NTHREADS NCCL_P2P_DISABLE NCCL_SHM_DISABLE NCCL_SOCKET_FAMILY
    NCCL_SOCKET_IFNAME NCCL_SOCKET_NTHREADS NEURON_CC_FLAGS NEURON_RT_NUM_CORES NEURON_RT_ROOT_COMM_ID
    NVIDIA_VISIBLE_DEVICES NVTE_FLASH_ATTN NVTE_FRAMEWORK OMPI_ALLOW_RUN_AS_ROOT OMPI_MCA_btl
    OMPI_MCA_btl_tcp_if_exclude OMPI_MCA_btl_tcp_if_include OMPI_MCA_hwloc_base_binding_policy
    OMPI_MCA_plm_rsh_agent OMPI_MCA_pml OMPI_MCA_rmaps_base_mapping_policy OMPI_MCA_rmaps_base_oversubscribe
    OMP_NUM_THREADS OMP_PLACES OMP_PROC_BIND PATH PJRT_DEVICE PT_HPU_LAZY_MODE PYTHONUNBUFFERED PYTORCH_ALLOC_CONF
    PYTORCH_CUDA_ALLOC_CONF PYTORCH_NO_CUDA_MEMORY_CACHING RAY_ADDRESS ROCR_VISIBLE_DEVICES S3_ENDPOINT_URL
    TF_FORCE_GPU_ALLOW_GROWTH TF_XLA_FLAGS TMPDIR TOKENIZERS_PARALLELISM TORCH_CPP_LOG_LEVEL TORCH_DISTRIBUTED_DEBUG
    TORCH_HOME TORCH_NCCL_BLOCKING_WAIT TPU_WORKER_ID TP_SOCKET_IFNAME TRANSFORMERS_CACHE TRANSFORMERS_OFFLINE
    TRANSFORMERS_VERBOSITY TRITON_CACHE_DIR UCX_NET_DEVICES UCX_TLS VLLM_ATTENTION_BACKEND WANDB_APIKEY
    WANDB_BASE_URL WANDB_DISABLED WANDB_KEY WANDB_MODE WANDB_TOKEN XLA_FLAGS XLA_PYTHON_CLIENT_ALLOCATOR
    XLA_PYTHON_CLIENT_MEM_FRACTION XLA_PYTHON_CLIENT_PREALLOCATE XLA_USE_BF16 http_proxy https_proxy
    """.split()
)
# Programs that start the processes of a training themselves.
_STARTING = frozenset(
    """
    deepy.py openrlhf.cli.train_ppo_ray ray verl.trainer.main_ppo
    """.split()
)
# What every container may concern.
ALWAYS = ("variables", "devices")
# Parts of images and commands that a row about devices is about, for the commonest device.
_OF_DEVICES = ("bf16", "fp8")
_COMMON = "nvidia.com/gpu"


@cache
def _by_name(kind: str) -> Mapping[str, Sequence[str]]:
    by_name: dict[str, list[str]] = {}
    for table, listed in {"programs": _PROGRAMS, "patterns": _PATTERNS, "anchors": _ANCHORS}[kind].items():
        for name in listed.split(" | "):
            by_name.setdefault(name, []).append(table)
    return by_name


def tables_of_program(names: Iterable[str]) -> Iterator[str]:
    """Yield the tables of a program, by its name, the name of its script, or that of its module."""
    by_name = _by_name("programs")
    for name in names:
        if name in by_name:
            yield from by_name[name]
            return
        for part, tables in _by_name("patterns").items():
            if part in name:
                yield from tables
                return


@cache
def commands() -> frozenset[str]:
    """Return the first words of the programs that are known by their first argument, too."""
    return frozenset(name.partition(" ")[0] for name in _by_name("programs") if " " in name)


def tables_of_options(keys: Iterable[str]) -> Iterator[str]:
    """Yield the tables of which a command has an option that no other program has."""
    anchors = _by_name("anchors")
    for key in keys:
        if key in anchors:
            yield from anchors[key]


def table_of_file(keys: frozenset[str]) -> str | None:
    """Return the table of a file with these keys: the first of which it has one of each group of marks."""
    for name, groups in _FILES:
        if all(any(mark in keys for mark in group.split()) for group in groups):
            return name
    return None


def names() -> frozenset[str]:
    """Return the names of all tables that a job may name."""
    return frozenset((*_PROGRAMS, *_PATTERNS, *_ANCHORS, *ALWAYS, *(name for name, _ in _FILES)))


def starts_processes(words: Iterable[str]) -> bool:
    """Return whether a command runs a program that starts the processes of the training itself."""
    return any(word.rpartition("/")[2] in _STARTING for word in words)


def concerns(variables: Iterable[str], device: str, image: str, text: str) -> bool:
    """Return whether a row about variables or devices may concern a container."""
    if not _VARIABLES.isdisjoint(variables) or "rocm" in image or device not in {_COMMON, ""}:
        return True
    return any(part in text for part in _OF_DEVICES)
