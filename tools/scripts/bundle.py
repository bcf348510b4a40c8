"""`python tools/scripts/bundle.py`: let the installed `trainc` start from one file, as it does in the image.

Writes the compiled modules of a build next to the program `trainc`, and makes that one look them up there. It saves
finding, opening and checking some hundred and fifty files, an eighth of the time of one job. Modules that are not in it
are imported as always. Only for an installation that nobody changes: the program does not notice a newer module.
"""

from __future__ import annotations

import io
import marshal
import sys
import sysconfig
from importlib import import_module
from importlib.machinery import SourceFileLoader
from pathlib import Path
from tempfile import TemporaryDirectory

import trainc
from trainc.cli.command import Streams
from trainc.cli.main import main as run

_JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm, namespace: team-a}
spec:
  runtimeRef: {name: torch-distributed}
  trainer: {numNodes: 2, command: [torchrun, train.py]}
"""
# Without `site`, which takes longer than the search for the modules; what it would add to the path is written out.
_PROGRAM = '''\
#!{python} -S
"""trainc, with the modules of a build from one file; tools/scripts/bundle.py wrote both."""
import sys
from importlib.machinery import ModuleSpec, SourceFileLoader
from marshal import loads
from posix import O_RDONLY, open, pread

_FILE = open({bundle!r}, O_RDONLY)
_START = int.from_bytes(pread(_FILE, 8, 0), "little")
_PLACES = loads(pread(_FILE, _START - 8, 8))


class _Bundled(SourceFileLoader):
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name not in _PLACES:
            return None
        file, is_package, _, _ = _PLACES[name]
        spec = ModuleSpec(name, _Bundled(name, file), origin=file, is_package=is_package)
        spec.has_location = True
        if is_package:
            spec.submodule_search_locations.append(file.removesuffix("/__init__.py"))
        return spec

    def get_code(self, name):
        _, _, start, size = _PLACES[name]
        return loads(pread(_FILE, size, _START + start))


sys.path += {paths!r}
sys.meta_path.insert(0, _Bundled)
from trainc.__main__ import run

sys.exit(run())
'''


def bundle(program: Path) -> None:
    """Replace the program, and write the modules next to it."""
    places: dict[str, tuple[str, bool, int, int]] = {}
    codes: list[bytes] = []
    for name in sorted(_modules_of_a_build()):
        loader = getattr(getattr(sys.modules[name], "__spec__", None), "loader", None)
        # None of what somebody may install another version of.
        if isinstance(loader, SourceFileLoader) and name.partition(".")[0] in (*sys.stdlib_module_names, "trainc"):
            code = marshal.dumps(loader.get_code(name))
            places[name] = (loader.path, loader.is_package(name), sum(map(len, codes)), len(code))
            codes.append(code)
    index = marshal.dumps(places)
    file = program.with_name(f"{program.name}.modules")
    file.write_bytes(b"".join([(len(index) + 8).to_bytes(8, "little"), index, *codes]))
    homes = (str(Path(trainc.__file__).parents[1]), *map(sysconfig.get_path, ("purelib", "platlib")))
    paths = list(dict.fromkeys(homes))
    program.write_text(_PROGRAM.format(python=sys.executable, bundle=str(file), paths=paths), encoding="utf-8")
    program.chmod(0o755)


def _modules_of_a_build() -> set[str]:
    """The modules that are imported once a job has been compiled."""
    import_module("trainc.__main__")
    with TemporaryDirectory() as folder:
        job = Path(folder, "job.yaml")
        job.write_text(_JOB, encoding="utf-8")
        status = run(["build", str(job), "--release", "2.3"], Streams(io.BytesIO(), io.BytesIO(), io.StringIO()))
    assert status == 0
    return {name for name in sys.modules if name != "__main__"}


if __name__ == "__main__":
    bundle(Path(sys.argv[1]) if sys.argv[1:] else Path(sysconfig.get_path("scripts"), "trainc"))
