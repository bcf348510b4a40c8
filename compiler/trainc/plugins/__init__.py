"""The plugins, in the order in which they run: a folder for each, with its passes, validation and builders.

The order is data, and changing it changes behavior. It is here, and not in registry.py, because `trainc version` prints
it without importing a plugin.
"""

# Upstream's registry is a Go map, so its order differs from process to process. The order here is one that upstream can
# have: the TrainJob's variables (PlainML) before those of the framework, initializers after all ML policies, and JobSet
# last.
# Folder: the plugin's name, and the folder of kubeflow/trainer's pkg/runtime/framework/plugins that it ports.
FOLDERS = {
    "plain": ("PlainML", "plainml"),
    "torch": ("Torch", "torch"),
    "mpi": ("MPI", "mpi"),
    "jax": ("JAX", "jax"),
    "xgboost": ("XGBoost", "xgboost"),
    "flux": ("Flux", "flux"),
    "coscheduling": ("CoScheduling", "coscheduling"),
    "volcano": ("Volcano", "volcano"),
    "workload": ("Workload", ""),
    "initializer": ("Initializer", "jobset"),
    "jobset": ("JobSet", "jobset"),
}
