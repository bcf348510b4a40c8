"""The two scripts of a Flux job: one installs Flux and its configuration, the other starts the brokers.

Both are trainc's own, written from Flux's administrator guide and the behavior of Trainer's plugin: an init container
copies Flux into a shared volume, each host starts a broker, and the lead broker runs the command.
"""

from __future__ import annotations

from string import Template

from trainc.plugins.flux.cluster import Cluster
from trainc.plugins.flux.volumes import CONFIG_DIR, CURVE_DIR, INSTALL_DIR

ENTRYPOINT = ("/bin/bash", f"{CONFIG_DIR}/entrypoint.sh")
INSTALL = ("/bin/bash", f"{CONFIG_DIR}/init.sh")

_BROKER_PORT = 8050

_BROKER_CONFIG = Template(
    """\
[access]
allow-guest-user = true
allow-root-owner = true

[resource]
path = "$install/config/R"

[bootstrap]
curve_cert = "$install/config/curve.cert"
default_port = $port
default_bind = "tcp://$device:%p"
default_connect = "tcp://%h.$domain:%p"
hosts = [{ host = "$hosts" }]

[archive]
dbpath = "$install/config/state/job-archive.sqlite"
period = "1m"
busytimeout = "50s"

[sched-fluxion-qmanager]
queue-policy = "$queue"
"""
)

_INIT = Template(
    """\
#!/bin/bash
# Copies Flux out of the installer image and writes the broker's configuration for $nodes node(s).
set -eu
config=$install/config
mkdir -p "$$config/state" "$$config/run" "$$config/cron.d" "$install/view" "$install/software"
cat > "$$config/broker.toml" <<'BROKER_CONFIG'
$broker
BROKER_CONFIG
# The view's real folder hides behind a link; its programs also expect /opt/software.
view=$$(find /opt/views/._view -mindepth 1 -maxdepth 1 -type d | head -n 1)
cp -R "$${view:-/opt/view}/." "$install/view/"
cp -R /opt/software/. "$install/software/"
"""
)

_ENTRYPOINT_SCRIPT = Template(
    """\
#!/bin/bash
# Starts this host's Flux broker; the lead broker runs the job's command.
set -eu
config=$install/config
view=$install/view
cp -R "$install/software/." /opt/software/
export PATH="$$PATH:$$view/bin"
export LD_LIBRARY_PATH="$${LD_LIBRARY_PATH:-}:$$view/lib"
packages=$$(find "$$view/lib" -maxdepth 2 -type d -path "$$view/lib/python3*/site-packages" | head -n 1)
export PYTHONPATH="$${PYTHONPATH:-}:$$packages"
export FLUX_RC_EXTRA="$$view/etc/flux/rc1.d"

# The broker refuses a certificate that others can read.
install -m 0600 $curve/curve.cert "$$config/curve.cert"
flux R encode --hosts='$hosts' $resources > "$$config/R"

broker=(
  --config-path "$$config/broker.toml"
  -Sstatedir="$$config/state"
  -Srundir="$$config/run"
  -Slocal-uri="local://$$config/run/local"
  -Scron.directory="$$config/cron.d"
  -Stbon.fanout=256
  -Slog-stderr-level=0
  -Slog-stderr-mode=local
)

if [ "$$(hostname)" != "$lead" ]; then
  # A follower may start before the lead broker does: try again until it has taken part and left in peace.
  until flux start "$${broker[@]}"; do sleep 2; done
  exit 0
fi
if [ "$$#" -eq 0 ] || [ -z "$$*" ]; then
  exec flux broker "$${broker[@]}"
fi
exec flux start "$${broker[@]}" flux run $flags $command
"""
)


def render(cluster: Cluster) -> dict[str, str]:
    """Return both scripts, by file name."""
    broker = _BROKER_CONFIG.substitute(
        install=INSTALL_DIR,
        port=_BROKER_PORT,
        device=cluster.network_device,
        domain=cluster.domain,
        hosts=cluster.hosts,
        queue=cluster.queue_policy,
    ).rstrip()
    # The controller passes one word, which the shell must split; `gitops` passes separate words.
    command = '"$@"' if cluster.words_kept else "$*"
    entrypoint = _ENTRYPOINT_SCRIPT.substitute(
        install=INSTALL_DIR,
        curve=CURVE_DIR,
        hosts=cluster.hosts,
        resources=cluster.resources,
        lead=cluster.lead,
        flags=cluster.run_flags,
        command=command,
    )
    return {
        "entrypoint.sh": entrypoint,
        "init.sh": _INIT.substitute(install=INSTALL_DIR, nodes=cluster.nodes, broker=broker),
    }
