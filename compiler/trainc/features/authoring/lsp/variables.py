"""What an editor shows of the environment variables of NCCL, PyTorch, OpenMP and Hugging Face."""

from __future__ import annotations

from trainc.api.editing import variable_names

# Options of torchrun that a runtime for PyTorch leaves to the job.
_TORCHRUN = "LOCAL_RANKS_FILTER LOG_DIR LOGS_SPECS MONITOR_INTERVAL RDZV_CONF REDIRECTS ROLE START_METHOD TEE"
# The program that reads the variables with a prefix; of several prefixes, the first one counts.
_READERS = {
    "TORCH_NCCL_": "PyTorch's process group for NCCL",
    "NCCL_": "NCCL",
    "PET_": "torchrun",
    "OMP_": "OpenMP",
    "HF_": "the libraries of Hugging Face",
    "GLOO_": "Gloo",
    "UCX_": "UCX",
    "FI_": "libfabric",
    "CUDA_": "CUDA",
    "TORCH": "PyTorch",
    "PYTORCH": "PyTorch",
}
_MEANINGS = {
    "CUDA_DEVICE_MAX_CONNECTIONS": "the number of hardware queues per GPU; Megatron-LM needs 1 for tensor parallelism",
    "CUDA_LAUNCH_BLOCKING": "1 makes each kernel run before the next line, so that errors point at the line that fails",
    "GLOO_SOCKET_IFNAME": "the network interfaces for Gloo",
    "HF_DATASETS_CACHE": "the folder of prepared data sets",
    "HF_HOME": "the folder of caches and tokens; on a volume, it outlives the pod",
    "HF_HUB_CACHE": "the folder of downloaded models and data sets",
    "HF_HUB_DOWNLOAD_TIMEOUT": "the seconds that a download may wait for an answer",
    "HF_HUB_OFFLINE": "1 uses only what is cached, and never the network",
    "HF_TOKEN": "the token for gated and private repositories; take it from a Secret",
    "NCCL_ALGO": "the collective algorithms to choose from, such as Ring,Tree",
    "NCCL_BUFFSIZE": "the bytes of the buffer between two GPUs",
    "NCCL_CROSS_NIC": "whether rings may use different NICs on different nodes: 0, 1, or 2 for automatic",
    "NCCL_DEBUG": "how much NCCL logs; INFO shows the network and the rings that it chose",
    "NCCL_DEBUG_FILE": "the file for the log, with %h for the host and %p for the process",
    "NCCL_DEBUG_SUBSYS": "the parts that log, such as INIT,NET",
    "NCCL_IB_DISABLE": "1 uses sockets instead of InfiniBand or RoCE",
    "NCCL_IB_GID_INDEX": "the entry of the GID table for RoCE",
    "NCCL_IB_HCA": "the InfiniBand adapters to use, by prefix, such as mlx5",
    "NCCL_IB_TIMEOUT": "the timeout of InfiniBand, as an exponent; larger is longer",
    "NCCL_MAX_NCHANNELS": "the most channels, each of which occupies a part of the GPU",
    "NCCL_NET_GDR_LEVEL": "how far a NIC may be from a GPU for direct access to its memory",
    "NCCL_P2P_DISABLE": "1 turns off direct access between the GPUs of a node",
    "NCCL_P2P_LEVEL": "how far apart two GPUs may be for direct access",
    "NCCL_PROTO": "the protocols to choose from, such as LL,LL128,Simple",
    "NCCL_SHM_DISABLE": "1 turns off shared memory between processes of a node",
    "NCCL_SOCKET_IFNAME": "the network interfaces to use, by prefix, such as eth or ^lo,docker",
    "OMP_NUM_THREADS": "the CPU threads of each process; torchrun sets 1 if nothing does",
    "PET_LOG_DIR": "the folder for the output of each rank",
    "PET_MONITOR_INTERVAL": "the seconds between two looks at the processes",
    "PET_RDZV_CONF": "settings of the rendezvous, such as timeout=900,join_timeout=600",
    "PET_REDIRECTS": "the output that goes to files in the log folder: 1 for stdout, 2 for stderr, 3 for both",
    "PET_TEE": "the output that goes to files and to the log of the pod: 1, 2 or 3, as for PET_REDIRECTS",
    "TORCH_CPP_LOG_LEVEL": "how much the C++ parts of PyTorch log",
    "TORCH_DISTRIBUTED_DEBUG": "checks of collectives; DETAIL finds ranks that call different ones, and is slow",
    "TORCH_LOGS": "the parts of the compiler that log, such as +dynamo,graph_breaks",
    "TORCH_NCCL_ASYNC_ERROR_HANDLING": "what a failed or timed out collective does: 0 nothing, 1 ends the process",
    "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC": "the seconds without progress after which a process is ended",
    "TORCH_NCCL_TRACE_BUFFER_SIZE": "the number of collectives that the flight recorder keeps",
    "TORCH_SHOW_CPP_STACKTRACES": "1 shows the C++ stack of an error",
    **dict.fromkeys(
        variable_names().allocators, "settings of the GPU's memory allocator, such as expandable_segments:True"
    ),
}
_VALUES = {
    "NCCL_ALGO": ("Ring", "Tree", "CollnetDirect", "CollnetChain", "NVLS", "NVLSTree", "PAT"),
    "NCCL_DEBUG_SUBSYS": ("INIT", "COLL", "P2P", "SHM", "NET", "GRAPH", "TUNING", "ENV", "ALLOC", "ALL"),
    "NCCL_PROTO": ("LL", "LL128", "Simple"),
    "OMP_PROC_BIND": ("true", "false", "close", "spread", "master"),
    "TORCH_CPP_LOG_LEVEL": ("INFO", "WARNING", "ERROR", "FATAL"),
    **dict.fromkeys(variable_names().allocators, ("expandable_segments:True",)),
    **dict.fromkeys(("PET_REDIRECTS", "PET_TEE"), ("0", "1", "2", "3")),
}
_SWITCHES = ("_DISABLE", "_ENABLE", "_OFFLINE", "_BLOCKING", "_STACKTRACES")


def suggested_variables() -> list[str]:
    """Return the variables that a job may set, sorted."""
    return sorted(variable_names().known | {f"PET_{name}" for name in _TORCHRUN.split()})


def meaning_of(name: str) -> str:
    """Return what reads a variable, and what it means; empty for a variable that no known program reads."""
    if name not in _MEANINGS and name not in suggested_variables():
        return ""
    reader = next((reader for prefix, reader in _READERS.items() if name.startswith(prefix)), "")
    return ": ".join(filter(None, (f"read by {reader}" if reader else "", _MEANINGS.get(name, ""))))


def suggested_values(name: str) -> tuple[str, ...]:
    """Return values of a variable, if there are few of them or some are common."""
    return (
        tuple(variable_names().words.get(name, ()))
        or _VALUES.get(name)
        or (("0", "1") if name.endswith(_SWITCHES) else ())
    )
