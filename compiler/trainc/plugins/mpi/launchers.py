"""MPI's launchers: mpirun under its several names, and the wrappers of Horovod and MLX.

Source: the manual pages of mpirun (Open MPI) and mpiexec.hydra (Intel MPI, MPICH); horovod runner/launch.py.
"""

from __future__ import annotations

from trainc.ir.commands.programs import Launcher, Starting

_COUNT = frozenset(("np", "n", "c"))

MPIRUN = Launcher(
    name="mpirun",
    programs=("mpirun", "mpiexec", "orterun", "prterun", "mpiexec.hydra", "mpirun.openmpi", "mpiexec.openmpi"),
    flags=frozenset(
        "allow-run-as-root oversubscribe nooversubscribe v verbose q quiet h help V bynode byslot bind-to-core bind-to-none"
        " bind-to-socket report-bindings display-map display-allocation tag-output timestamp-output do-not-launch nolocal"
        " genvall envall prepend-rank l pernode show-progress enable-recovery debug-daemons version print-rank-map".split()
    ),
    pairs=frozenset(("mca", "gmca", "genv", "env", "pmca", "prtemca")),
    per_node=frozenset(("npernode", "N", "ppn", "perhost")),
    total=_COUNT,
    hosts=frozenset(("H", "host", "hosts", "hostfile", "machinefile", "f", "default-hostfile")),
    own_way=frozenset(("oversubscribe", "map-by", "rankfile", "rf", "app", "configfile", "pernode")),
    reaches="hosts",
)
HOROVODRUN = Launcher(
    name="horovodrun",
    programs=("horovodrun",),
    modules=("horovod.runner.launch", "horovod.run.run"),
    flags=frozenset(("verbose", "gloo", "mpi", "jsrun", "disable-cache", "autotune", "help", "h", "version", "v")),
    total=frozenset(("np", "num-proc")),
    hosts=frozenset(("H", "hosts", "hostfile", "host-discovery-script")),
    own_way=frozenset(("min-np", "max-np")),
    reaches="hosts",
)
MLX_LAUNCH = Launcher(
    name="mlx.launch",
    programs=("mlx.launch",),
    flags=frozenset(("verbose", "print-python", "no-verify-script", "help", "h")),
    total=frozenset(("n", "repeat-hosts")),
    hosts=frozenset(("hosts", "hostfile")),
    reaches="hosts",
)
STARTING = Starting((MPIRUN, HOROVODRUN, MLX_LAUNCH), needed=True, hosts=True)
