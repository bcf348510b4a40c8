"""Environment variables of NCCL, PyTorch, OpenMP and Hugging Face, to detect misspelled names and values not read.

Sources: NVIDIA/nccl src (NCCL_PARAM, ncclGetEnv; param.cc reads numbers); pytorch
torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp, c10/core/AllocatorConfig.cpp, torch/distributed/run.py (which reads an
option --x from PET_X) and docs/source/torch_environment_variables.rst; the OpenMP 5.2 specification, chapter 21; huggingface_hub constants.py.
"""

from __future__ import annotations

from functools import cache

PREFIXES = ("NCCL", "TORCH", "PYTORCH", "CUDA", "GLOO", "UCX", "FI_", "OMP_", "HF_")

_NCCL = (
    "ALGO ALLGATHERV_ENABLE ALLOC_P2P_NET_LL_BUFFERS ASYNC_ERROR_HANDLING AVOID_RECORD_STREAMS BLOCKING_WAIT "
    "BUFFSIZE CGA_CLUSTER_SIZE CHECK_MODE CHECK_POINTERS CHUNK_SIZE COLLNET_ENABLE COLLNET_NODE_THRESHOLD "
    "COMM_BLOCKING COMM_ID COMM_SHRINK_SHARE_RESOURCES COMM_SPLIT_SHARE_RESOURCES CONF_FILE "
    "CONNECT_ROUND_MAX_PEERS CROSS_NIC CTA_POLICY CUMEM_ENABLE CUMEM_HOST_ENABLE DEBUG DEBUG_FILE DEBUG_SUBSYS "
    "DEBUG_TIMESTAMP_FORMAT DEBUG_TIMESTAMP_LEVELS DESYNC_DEBUG DEV_API_JIT DISABLE_MEM_MANAGER DMABUF_ENABLE "
    "DYNAMIC_CHUNK_SIZE ELASTIC_BUFFER_REGISTER ENABLE_VERSION_CHECK ENV_PLUGIN FASTRAK_CTRL_DEV FASTRAK_ENABLE "
    "FASTRAK_IFNAME GDAKI_USE_RELIABLE_DB GDRCOPY_ENABLE GDRCOPY_FIFO_ENABLE GDRCOPY_FLUSH_ENABLE "
    "GDRCOPY_SYNC_ENABLE GDR_FLUSH_DISABLE GIN_CONNECTION_RAIL GIN_ENABLE GIN_ERROR_QUERY_SEC "
    "GIN_GDAKI_MAX_DEST_RD_ATOMIC GIN_GDAKI_MAX_QP_RD_ATOMIC GIN_GDAKI_NIC_HANDLER GIN_GDAKI_QP_DEPTH GIN_IB_TC "
    "GIN_NCONNECTIONS GIN_PLUGIN GIN_PROXY_QUEUE_SIZE GIN_TYPE GRAPH_DUMP_FILE GRAPH_DUMP_FILE_RANK GRAPH_FILE "
    "GRAPH_HELPER_DISABLE GRAPH_MIXING_SUPPORT GRAPH_REGISTER GRAPH_STREAM_ORDERING GROUP_CUDA_STREAM "
    "HIGH_PRIORITY HOME HOSTID IBVERBS_LIB IB_ADAPTIVE_ROUTING IB_ADDR_FAMILY IB_ADDR_RANGE IB_AR_THRESHOLD "
    "IB_CUDA_SUPPORT IB_DATA_DIRECT IB_DEVICE_PCI_ORDER IB_DISABLE IB_ECE_ENABLE IB_FIFO_TC IB_GID_INDEX IB_HCA "
    "IB_MERGE_NICS IB_MERGE_VFS IB_MQP_RETRY_ALL IB_MQP_RETRY_CNT IB_MQP_RETRY_SLEEP_MSEC IB_OOO_RQ "
    "IB_PCI_RELAXED_ORDERING IB_PKEY IB_PREPOST_RECEIVE_WORK_REQUESTS IB_QPS_PER_CONNECTION IB_QUERY_PORT_SPEED "
    "IB_RECEIVER_SIDE_MATCHING_SCHEME IB_RETRY_CNT IB_RETURN_ASYNC_EVENTS IB_ROCE_VERSION_NUM "
    "IB_ROUTABLE_FLID_GID_INDEX IB_SL IB_SPLIT_DATA_ON_QPS IB_SUBNET_AWARE_ROUTING IB_SUBNET_PREFIX_LEN IB_TC "
    "IB_TIMEOUT IB_USE_INLINE IB_WARN_RAIL_LOCAL IGNORE_COLLNET_MISMATCH IGNORE_CPU_AFFINITY IGNORE_DISABLED_P2P "
    "IGNORE_NET_MISMATCH INCLUDE_DIR IPC_USE_ABSTRACT_SOCKET L1_SHARED_MEMORY_CARVEOUT LAUNCH_MODE "
    "LAUNCH_ORDER_IMPLICIT LAUNCH_RACE_FATAL LEGACY_CUDA_REGISTER LIBRARY LIB_DIR LL128_BUFFSIZE LL128_C2C "
    "LL128_NTHREADS LL_BUFFSIZE LOCAL_REGISTER LSA_TEAM_SIZE MAX_CTAS MAX_NCHANNELS MAX_NRINGS MAX_P2P_NCHANNELS "
    "MEM_SYNC_DOMAIN MIN_CTAS MIN_NCHANNELS MIN_NRINGS MIN_P2P_NCHANNELS MLOPART_RDMA_ENABLE MNNVL_CLIQUE_ID "
    "MNNVL_CROSS_CLIQUE MNNVL_ENABLE MNNVL_RAIL_PER_HOST MNNVL_SCATTER_NETS_ENABLE MNNVL_UUID "
    "MULTI_RANK_GPU_ENABLE MULTI_SEGMENT_REGISTER NCHANNELS_PER_NET_PEER NET NETDEVS_POLICY NET_DISABLE_INTRA "
    "NET_FORCE_FLUSH NET_FORCE_MERGE NET_GDR_C2C NET_GDR_LEVEL NET_GDR_MLOPART NET_GDR_READ NET_MERGE_LEVEL "
    "NET_MERGE_POLICY NET_OPTIONAL_RECV_COMPLETION NET_OVERHEAD NET_PLUGIN NET_SHARED_BUFFERS NET_SHARED_COMMS "
    "NO_CACHE NSOCKS_PERTHREAD NTHREADS NUM_RMA_CTX NVB_DISABLE NVB_PRECONNECT NVLINK_UTIL_CENTRIC_SCHED_ENABLE "
    "NVLSTREE_MAX_CHUNKSIZE NVLS_CHUNKSIZE NVLS_ENABLE NVLS_NCHANNELS NVTX_DISABLE OOB_NET_ENABLE OOB_NET_IFNAME "
    "P2P_DIRECT_DISABLE P2P_DISABLE P2P_EPOCH_ENABLE P2P_LEVEL P2P_LL_THRESHOLD P2P_MAX_PEERS P2P_NET_CHUNKSIZE "
    "P2P_NVL_CHUNKSIZE P2P_PCI_CHUNKSIZE P2P_PER_CHANNEL_NET_BW P2P_PXN_LEVEL P2P_READ_ENABLE "
    "P2P_SCHEDULE_GROUP_SIZE P2P_USE_CUDA_MEMCPY PARAM_DUMP_ALL PAT_ENABLE "
    "PROFILER_CE_POLLER_INTERVAL_MICROSECONDS PROFILER_CE_TIMING PROFILER_PLUGIN PROGRESS_APPENDOP_FREQ PROTO "
    "PROXY_APPEND_BATCH_SIZE PROXY_CPUSET PROXY_DUMP_SIGNAL PXN_C2C PXN_DISABLE RAS_ADDR RAS_ENABLE "
    "RAS_TIMEOUT_FACTOR REPORT_CONNECT_PROGRESS RINGS RMA_DISABLE RMA_PLUGIN RMA_PROXY_DUMP_SIGNAL "
    "RMA_PROXY_QUEUE_SIZE ROOT RUNTIME_CONNECT SETUP_TIMEOUT SET_CPU_STACK_SIZE SET_STACK_SIZE "
    "SHADOW_MEMPOOL_MAX_SIZE SHIMNET_GUEST_CONFIG_CHECKER_CONFIG_FILE SHM_DISABLE SHM_LOCALITY "
    "SINGLE_PROC_MEM_REG_ENABLE SOCKET_FAMILY SOCKET_IFNAME SOCKET_INLINE SOCKET_MAGIC SOCKET_MIN_TASKSIZE "
    "SOCKET_NTHREADS SOCKET_POLL_TIMEOUT_MSEC SOCKET_RCVBUF SOCKET_RETRY_CNT SOCKET_RETRY_SLEEP_MSEC "
    "SOCKET_SNDBUF SYM_CE_THRESHOLD SYM_CTAS SYM_GIN_KERNELS_ENABLE SYM_KERNEL SYM_NOWIN_ENABLE "
    "SYM_REUSE_SYSMEM_HANDLES SYM_RS_GIN_CHUNK_SIZE SYM_TMA_ENABLE TELEMETRY_MODE THREAD_THRESHOLDS TIMEOUT "
    "TOPO_DUMP_FILE TOPO_DUMP_FILE_RANK TOPO_FILE TOPO_SPLIT_MLOPART TREE_THRESHOLD TUNER_CONFIG_FILE "
    "TUNER_CONFIG_PATH TUNER_PLUGIN UID_STAGGER_RATE UID_STAGGER_THRESHOLD UNPACK_DOUBLE_NCHANNELS VERSION "
    "WIN_ENABLE WIN_STRIDE WORK_ARGS_BYTES WORK_FIFO_BYTES "
)
_TORCH_NCCL = (
    "ASYNC_ERROR_HANDLING AVOID_RECORD_STREAMS BLOCKING_WAIT COORD_CHECK_MILSEC CUDA_EVENT_CACHE "
    "DEBUG_INFO_PIPE_FILE DEBUG_INFO_TEMP_FILE DESYNC_DEBUG DUMP_ON_TIMEOUT ENABLE_MONITORING ENABLE_TIMING "
    "EXTRA_DUMP_ON_EXEC HEARTBEAT_TIMEOUT_SEC HIGH_PRIORITY LOG_CPP_STACK_ON_UNCLEAN_SHUTDOWN NAN_CHECK "
    "NONBLOCKING_TIMEOUT PROPAGATE_ERROR RANKS_PER_ROOT RETHROW_CUDA_ERRORS "
    "SHOW_EAGER_INIT_P2P_SERIALIZATION_WARNING TRACE_BUFFER_SIZE TRACE_CPP_STACK USE_COMM_NONBLOCKING "
    "USE_TENSOR_REGISTER_ALLOCATOR_HOOK WAIT_TIMEOUT_DUMP_MILSEC "
)
_OTHERS = (
    "CUDA_CACHE_DISABLE CUDA_CACHE_MAXSIZE CUDA_CACHE_PATH CUDA_DEVICE_MAX_CONNECTIONS CUDA_DEVICE_ORDER "
    "CUDA_HOME CUDA_LAUNCH_BLOCKING CUDA_MODULE_LOADING CUDA_PATH CUDA_VERSION CUDA_VISIBLE_DEVICES "
    "FI_EFA_FORK_SAFE FI_EFA_USE_DEVICE_RDMA FI_EFA_USE_HUGE_PAGE FI_HMEM_DISABLE_P2P FI_LOG_LEVEL FI_PROVIDER "
    "GLOO_SOCKET_IFNAME MKL_NUM_THREADS NVIDIA_DRIVER_CAPABILITIES NVIDIA_VISIBLE_DEVICES OMP_NUM_THREADS "
    "PYTORCH_ALLOC_CONF PYTORCH_BUILD_NUMBER PYTORCH_BUILD_VERSION PYTORCH_CUDA_ALLOC_CONF "
    "PYTORCH_ENABLE_MPS_FALLBACK PYTORCH_HIP_ALLOC_CONF PYTORCH_HOME PYTORCH_JIT PYTORCH_KERNEL_CACHE_PATH "
    "PYTORCH_MPS_HIGH_WATERMARK_RATIO PYTORCH_MPS_LOW_WATERMARK_RATIO PYTORCH_NO_CUDA_MEMORY_CACHING "
    "PYTORCH_NVML_BASED_CUDA_CHECK PYTORCH_PRETRAINED_BERT_CACHE PYTORCH_TRANSFORMERS_CACHE "
    "PYTORCH_TUNABLEOP_ENABLED PYTORCH_TUNABLEOP_FILENAME PYTORCH_TUNABLEOP_TUNING PYTORCH_VERSION "
    "RCCL_MSCCL_ENABLE SHARP_COLL_ENABLE_SAT TORCHDYNAMO_DISABLE TORCHDYNAMO_VERBOSE "
    "TORCHELASTIC_ENABLE_FILE_TIMER TORCHELASTIC_ERROR_FILE TORCHELASTIC_HEALTH_CHECK_PORT "
    "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE TORCHELASTIC_MAX_RESTARTS TORCHELASTIC_USE_AGENT_STORE "
    "TORCHINDUCTOR_AUTOGRAD_CACHE TORCHINDUCTOR_CACHE_DIR TORCHINDUCTOR_COMPILE_THREADS "
    "TORCHINDUCTOR_FX_GRAPH_CACHE TORCHINDUCTOR_MAX_AUTOTUNE TORCHTITAN_HOME TORCH_ALLOW_TF32_CUBLAS_OVERRIDE "
    "TORCH_BLAS_PREFER_CUBLASLT TORCH_COMPILE_DEBUG TORCH_COMPILE_DISABLE TORCH_CPP_LOG_LEVEL "
    "TORCH_CUDA_ARCH_LIST TORCH_DEVICE_BACKEND_AUTOLOAD TORCH_DISTRIBUTED_DEBUG TORCH_DIST_INIT_BARRIER "
    "TORCH_EXTENSIONS_DIR TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD TORCH_FORCE_WEIGHTS_ONLY_LOAD TORCH_FR_BUFFER_SIZE "
    "TORCH_FR_DUMP_TEMP_FILE TORCH_HOME TORCH_LOGS TORCH_LOGS_OUT TORCH_NUM_THREADS TORCH_SHOW_CPP_STACKTRACES "
    "TORCH_TRACE TORCH_USE_CUDA_DSA TP_SOCKET_IFNAME UCX_IB_GID_INDEX UCX_NET_DEVICES UCX_TLS "
)


_OPENMP = (
    "AFFINITY_FORMAT ALLOCATOR CANCELLATION DEFAULT_DEVICE DISPLAY_AFFINITY DISPLAY_ENV DYNAMIC MAX_ACTIVE_LEVELS "
    "MAX_TASK_PRIORITY NESTED NUM_TEAMS NUM_THREADS PLACES PROC_BIND SCHEDULE STACKSIZE TARGET_OFFLOAD "
    "TEAMS_THREAD_LIMIT THREAD_LIMIT TOOL TOOL_LIBRARIES TOOL_VERBOSE_INIT WAIT_POLICY"
)
_HUGGING_FACE = (
    "ASSETS_CACHE DATASETS_CACHE DATASETS_IN_MEMORY_MAX_SIZE DATASETS_OFFLINE DATASETS_TRUST_REMOTE_CODE ENDPOINT "
    "EVALUATE_OFFLINE HOME HUB_CACHE HUB_DISABLE_EXPERIMENTAL_WARNING HUB_DISABLE_IMPLICIT_TOKEN "
    "HUB_DISABLE_PROGRESS_BARS HUB_DISABLE_SYMLINKS_WARNING HUB_DISABLE_TELEMETRY HUB_DISABLE_XET "
    "HUB_DOWNLOAD_TIMEOUT HUB_ENABLE_HF_TRANSFER HUB_ETAG_TIMEOUT HUB_OFFLINE HUB_VERBOSITY MODULES_CACHE TOKEN "
    "TOKEN_PATH XET_CACHE XET_HIGH_PERFORMANCE"
)
_NCCL_INTEGERS = (
    "BUFFSIZE COLLNET_ENABLE CROSS_NIC CUMEM_ENABLE CUMEM_HOST_ENABLE DMABUF_ENABLE IB_ADAPTIVE_ROUTING "
    "IB_AR_THRESHOLD IB_DISABLE IB_GID_INDEX IB_MERGE_NICS IB_PCI_RELAXED_ORDERING IB_PKEY "
    "IB_QPS_PER_CONNECTION IB_RETRY_CNT IB_ROCE_VERSION_NUM IB_SL IB_SPLIT_DATA_ON_QPS IB_TC IB_TIMEOUT "
    "LL_BUFFSIZE LL128_BUFFSIZE MAX_CTAS MAX_NCHANNELS MIN_CTAS MIN_NCHANNELS MNNVL_ENABLE "
    "NET_FORCE_FLUSH NET_GDR_READ NET_SHARED_BUFFERS NSOCKS_PERTHREAD NTHREADS NVB_DISABLE NVLS_ENABLE "
    "P2P_DISABLE P2P_DIRECT_DISABLE PXN_DISABLE RAS_ENABLE SHM_DISABLE SOCKET_NTHREADS WIN_ENABLE"
)
# Variables that NCCL and PyTorch read as an integer: they ignore, or fail at, any other text.
INTEGERS = frozenset(
    (
        *(f"NCCL_{name}" for name in _NCCL_INTEGERS.split()),
        *("TORCH_NCCL_ASYNC_ERROR_HANDLING", "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC", "TORCH_NCCL_TRACE_BUFFER_SIZE"),
        *("TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC", "TORCH_NCCL_COORD_CHECK_MILSEC"),
        "CUDA_LAUNCH_BLOCKING",
    )
)
# Variables with a fixed set of words, whose case does not matter.
WORDS = {
    "NCCL_DEBUG": ("VERSION", "WARN", "INFO", "ABORT", "TRACE"),
    "TORCH_DISTRIBUTED_DEBUG": ("OFF", "INFO", "DETAIL"),
    "NCCL_P2P_LEVEL": ("LOC", "NVL", "PIX", "PXB", "PXN", "PHB", "SYS", "0", "1", "2", "3", "4", "5"),
    "NCCL_NET_GDR_LEVEL": ("LOC", "PIX", "PXB", "PXN", "PHB", "SYS", "0", "1", "2", "3", "4", "5"),
}
# Variables with a list of words, all of which a leading ^ excludes.
LISTS = {
    "NCCL_ALGO": ("Tree", "Ring", "CollNet", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT"),
    "NCCL_PROTO": ("LL", "LL128", "Simple"),
    "NCCL_DEBUG_SUBSYS": (
        *("INIT", "COLL", "P2P", "SHM", "NET", "GRAPH", "TUNING", "ENV", "ALLOC", "CALL", "PROXY", "NVLS"),
        *("BOOTSTRAP", "REG", "PROFILE", "RAS", "ALL"),
    ),
}
ALLOCATOR_SETTINGS = (
    *("backend", "max_split_size_mb", "max_non_split_rounding_mb", "garbage_collection_threshold"),
    *("roundup_power2_divisions", "roundup_bypass_threshold_mb", "expandable_segments", "release_lock_on_cudamalloc"),
    *("pinned_use_cuda_host_register", "pinned_num_register_threads", "pinned_use_background_threads"),
    *("pinned_reserve_segment_size_mb", "graph_capture_record_stream_reuse", "per_process_memory_fraction"),
    *("pinned_max_power2_size_mb", "pinned_max_round_threshold_mb", "pinned_use_hip_host_register"),
    *("pinned_max_cached_size_mb", "large_segment_size_mb", "throw_on_cudamalloc_oom", "use_cuda_host_register"),
)
# Variables with the settings of PyTorch's allocator, as NAME:VALUE[,NAME:VALUE].
ALLOCATORS = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF", "PYTORCH_ALLOC_CONF")


@cache
def known_variables() -> frozenset[str]:
    """Return all variables by their full names."""
    return frozenset(
        (
            *(f"NCCL_{name}" for name in _NCCL.split()),
            *(f"TORCH_NCCL_{name}" for name in _TORCH_NCCL.split()),
            *(f"OMP_{name}" for name in _OPENMP.split()),
            *(f"HF_{name}" for name in _HUGGING_FACE.split()),
            *_OTHERS.split(),
        )
    )


# What an editor shows.

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
    **dict.fromkeys(ALLOCATORS, "settings of the GPU's memory allocator, such as expandable_segments:True"),
}
_VALUES = {
    "NCCL_ALGO": ("Ring", "Tree", "CollnetDirect", "CollnetChain", "NVLS", "NVLSTree", "PAT"),
    "NCCL_DEBUG_SUBSYS": ("INIT", "COLL", "P2P", "SHM", "NET", "GRAPH", "TUNING", "ENV", "ALLOC", "ALL"),
    "NCCL_PROTO": ("LL", "LL128", "Simple"),
    "OMP_PROC_BIND": ("true", "false", "close", "spread", "master"),
    "TORCH_CPP_LOG_LEVEL": ("INFO", "WARNING", "ERROR", "FATAL"),
    **dict.fromkeys(ALLOCATORS, ("expandable_segments:True",)),
    **dict.fromkeys(("PET_REDIRECTS", "PET_TEE"), ("0", "1", "2", "3")),
}
_SWITCHES = ("_DISABLE", "_ENABLE", "_OFFLINE", "_BLOCKING", "_STACKTRACES")


def suggested_variables() -> list[str]:
    """Return the variables that a job may set, sorted."""
    return sorted(known_variables() | {f"PET_{name}" for name in _TORCHRUN.split()})


def meaning_of(name: str) -> str:
    """Return what reads a variable, and what it means; empty for a variable that no known program reads."""
    if name not in _MEANINGS and name not in suggested_variables():
        return ""
    reader = next((reader for prefix, reader in _READERS.items() if name.startswith(prefix)), "")
    return ": ".join(filter(None, (f"read by {reader}" if reader else "", _MEANINGS.get(name, ""))))


def suggested_values(name: str) -> tuple[str, ...]:
    """Return values of a variable, if there are few of them or some are common."""
    return WORDS.get(name) or _VALUES.get(name) or (("0", "1") if name.endswith(_SWITCHES) else ())
