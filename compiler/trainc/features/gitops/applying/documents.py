"""The files for Argo CD and Flux of a repository: which document applies which folder.

Sources: argoproj/argo-cd pkg/apis/application/v1alpha1/types.go and docs/operator-manual/applicationset, v3.5.1;
fluxcd/kustomize-controller docs/spec/v1/kustomizations.md, v1.7.
"""

from __future__ import annotations

import json
import os
import re
from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import islice
from typing import Any, TypeAlias

from trainc.api.documents import Document, files, opening, yaml_reader
from trainc.api.findings import CompileError, Path, Severity, Source, did_you_mean, edit_distance
from trainc.api.git import git, revisions
from trainc.api.kube import documents, identity_of, mapping, objects, value_at
from trainc.api.output import ownership
from trainc.api.records import dataclass, field, pattern
from trainc.api.settings import Limits, Options

# The severity, the message, the hint, and the field: below the spec, or in another document, which comes before the path.
Reported: TypeAlias = "tuple[Severity, str, str, tuple[Any, ...]]"
TOOLS = {"argocd": "Argo CD", "flux": "Flux"}
_GROUPS = {"argoproj.io": "argocd", "kustomize.toolkit.fluxcd.io": "flux", "source.toolkit.fluxcd.io": "flux"}
OURS = r"^ *\"?apiVersion\"?: *\"?(argoproj\.io|(kustomize|source)\.toolkit\.fluxcd\.io)/"
_MOST_FILES = 500
# Of one ApplicationSet, and the characters of a text that an element completes, or completes it with.
_MOST_ELEMENTS, _MOST_CHARACTERS = 500, 1_000
# Of all of them: characters of filled templates, above which a set stands for its first element, and folders that are read.
_MOST_FILLED, _MOST_FOLDERS = 8_000_000, 20_000
_LONGEST, _MOST_STARS, _MOST_CHOICES = 300, 2, 3
_SHORTEST = 3
# Of very many names, those that are compared: of each order, so many on both sides of the one that is asked for.
_BESIDE = 50
_KIND = pattern(r"(?m)^apiVersion: (\S+)\nkind: (\S+)$")
_VARIABLE = pattern(r"\{\{\s*\.?([\w.]+)\s*\}\}")
_IN_CLUSTER = ("https://kubernetes.default.svc", "in-cluster")


class Output:
    """An output folder, from the folder of trainc.yaml; `files` are those that a build wrote, from the output."""

    def __init__(self, folder: str, environment: str, home: str, options: Options) -> None:
        """Take what trainc.yaml says; texts are read when they are asked for."""
        self.folder, self.environment, self.home = folder, environment, home
        self.tool, self.hashed = options.delivery, options.name_hash
        self._written = os.path.abspath(os.path.join(home, folder))

    @cached_property
    def files(self) -> tuple[str, ...]:
        """Those that a build wrote, which are looked for only if something applies one of the outputs."""
        return tuple(ownership.marked_files(self._written)) if os.path.isdir(self._written) else ()

    @cached_property
    def texts(self) -> list[tuple[str, str]]:
        """Each file and its text."""
        found = list[tuple[str, str]]()
        for file in self.files:
            with suppress(OSError):
                text = opening.read_file(os.path.join(self.home, self.folder, file), Limits().file_bytes)
                found.append((file, text.decode(errors="replace")))
        return found

    @cached_property
    def kinds(self) -> set[tuple[str, str]]:
        """The group and kind of each object."""
        found = {pair for _, text in self.texts for pair in _KIND.findall(text)}
        return {(version.partition("/")[0] if "/" in version else "", kind) for version, kind in found}


@dataclass(slots=True)
class Applier:
    """What a document applies: the folder, from that of trainc.yaml, and where the document says so.

    `spec` is at `above`, with the values of an ApplicationSet's generator, and what names the folder is at `source` below it.
    """

    document: Document
    above: Path
    spec: Mapping[str, Any]
    source: Path
    path: str
    tool: str
    name: str = ""
    # Each file of an output that is below the folder, as it is called there, and these outputs. Others may share them.
    files: Mapping[str, tuple[Output, str]] = field(default_factory=dict)
    outputs: Sequence[Output] = ()

    @property
    def kind(self) -> str:
        """The kind of the document."""
        return str(self.document.data["kind"])

    @property
    def place(self) -> str:
        """The file and line that names the folder."""
        source = self.document.locate((*self.above, *self.source, "path"))
        return f"{self.document.file}:{source.line}" if source else self.document.file

    @property
    def recurses(self) -> bool:
        """Whether Argo CD reads subfolders."""
        return self.get(*self.source, "directory", "recurse") is True

    def get(self, *path: str | int) -> Any:
        """Return what is at a path of the spec."""
        return value_at(self.spec, path)

    def cluster(self) -> object:
        """What tells clusters apart; files of one folder are for the same instance of the tool."""
        folder = os.path.dirname(self.document.file)
        if self.tool == "flux":
            return folder, json.dumps(self.get("kubeConfig"), default=str, sort_keys=True)
        destination = mapping(self.get("destination"))
        server = str(destination.get("server") or destination.get("name") or "")
        return (folder, _IN_CLUSTER) if server in _IN_CLUSTER else server and (bool(destination.get("server")), server)


def delivery_documents(home: str, outputs: Iterable[str]) -> list[Document]:
    """Return the documents for Argo CD and Flux of the repository, those in folders with the names of the tools first."""
    paths = [folder for tool in TOOLS if os.path.isdir(folder := os.path.join(home, tool))]
    with suppress(CompileError):
        top = revisions.here().top
        written = [os.path.relpath(os.path.realpath(os.path.join(home, o)), os.path.realpath(top)) for o in outputs]
        paths += _files_for_tools(top, ["--untracked"], [f":(exclude){folder}" for folder in written])
    return _of_tools(files.read_paths(paths, Limits(), everything=True)[0])


def _files_for_tools(top: str, where: Sequence[str], left_out: Sequence[str] = ()) -> list[str]:
    """Return the files of a repository that have documents for both tools, from the current folder."""
    words = ["--no-literal-pathspecs", "grep", "-lIzE", "-e", OURS, *where, "--", "*.yaml", "*.yml", *left_out]
    names = git.run_git(top, words).decode(errors="replace").split("\0")
    at_commit = f"{where[0]}:"
    names = [name.removeprefix(at_commit) for name in names if name][:_MOST_FILES]
    return [os.path.relpath(os.path.join(top, name)) for name in names]


def _of_tools(documents: Iterable[Document]) -> list[Document]:
    return [d for d in documents if str(d.data.get("apiVersion")).partition("/")[0] in _GROUPS]


def appliers(documents: Iterable[Document], prefix: str, folders: Folders) -> Iterator[Applier]:
    """Yield what each Application, ApplicationSet and Kustomization applies, for each of its sources and elements."""
    left = _MOST_FILLED
    for document in documents:
        data, kind = document.data, document.data.get("kind")
        if kind == "Application":
            yield from _sources(document, ("spec",), mapping(data.get("spec")), identity_of(data)[1], prefix)
        elif kind == "ApplicationSet":
            template = mapping(value_at(data, ("spec", "template")))
            length = len(str(template)) + 1
            most = min(_MOST_ELEMENTS, max(left // length, 1))
            for element in islice(_elements(mapping(data.get("spec")), folders), most):
                left -= length
                filled = _filled(template, element)
                name = identity_of(filled)[1]
                yield from _sources(document, ("spec", "template", "spec"), mapping(filled.get("spec")), name, prefix)
        elif kind == "Kustomization":
            spec = mapping(data.get("spec"))
            path = os.path.relpath(str(spec.get("path") or "").lstrip("/") or ".", prefix)
            yield Applier(document, ("spec",), spec, (), path, "flux", identity_of(data)[1])


def _sources(document: Document, above: Path, spec: Mapping[str, Any], name: str, prefix: str) -> Iterator[Applier]:
    places = (
        [("source",)]
        if spec.get("source")
        else [("sources", i) for i in range(len(documents.items(spec.get("sources"))))]
    )
    for at in places:
        source = mapping(value_at(spec, at))
        if isinstance(path := source.get("path"), str) and path and "{{" not in path:
            yield Applier(document, above, spec, at, os.path.relpath(path, prefix), "argocd", name)


def _elements(spec: Mapping[str, Any], folders: Folders) -> Iterator[dict[str, Any]]:
    """Yield the values of each element of generators that the repository determines: lists, and folders of git."""
    for generator in objects(spec.get("generators")):
        yield from map(dict, objects(mapping(generator.get("list")).get("elements")))
        globs = objects(mapping(generator.get("git")).get("directories"))
        left_out = {
            folder
            for glob in globs
            if glob.get("exclude") is True
            for folder in folders.matching(str(glob.get("path"))) or ()
        }
        for glob in globs:
            for folder in (folders.matching(str(glob.get("path"))) or ()) if glob.get("exclude") is not True else ():
                if folder not in left_out:
                    path = {"path": folder, "basename": os.path.basename(folder)}
                    yield {
                        "path": path if spec.get("goTemplate") is True else folder,
                        "path.basename": path["basename"],
                    }


class Folders:
    """The folders of a repository below `root`, of which all globs together read so many."""

    def __init__(self, root: str) -> None:
        """Read none yet."""
        self._root, self._left = root, _MOST_FOLDERS

    def matching(self, glob: str) -> list[str] | None:
        """Return those that match a glob of a git generator, in which `*` stands for one name or a part; None if not known."""
        found = [""]
        for part in glob.removeprefix("./").strip("/").split("/"):
            self._left -= len(found)
            if self._left < 0:
                return None
            matching = re.compile(glob_pattern(part, "/") or r"(?!)")
            inside = ((above, name) for above in found for name in _folders_in(os.path.join(self._root, above)))
            found = [os.path.join(above, name) for above, name in inside if matching.fullmatch(name)]
        return found


def _folders_in(folder: str) -> list[str]:
    with suppress(OSError):
        return sorted(
            entry.name for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False) and entry.name != ".git"
        )
    return []


def _filled(value: Any, element: Mapping[str, Any]) -> Any:
    """Return a template with the values of an element; what it does not have stays as it is."""
    if isinstance(value, dict):
        return {key: _filled(each, element) for key, each in value.items()}
    if isinstance(value, list):
        return [_filled(each, element) for each in value]
    if not isinstance(value, str) or len(value) > _MOST_CHARACTERS:
        return value

    def known(match: Any) -> str:
        found = element[match[1]] if match[1] in element else value_at(element, tuple(match[1].split(".")))
        is_text = found is not None and not isinstance(found, (dict, list)) and len(str(found)) <= _MOST_CHARACTERS
        return str(found) if is_text else match[0]

    return _VARIABLE.sub(known, value)


def glob_pattern(glob: str, separator: str = "") -> str | None:
    """Return a glob as Argo CD reads it (gobwas/glob) as a regular expression; None for one that is too much to try.

    Between two stars, the first place that fits is as good as any, so that none is tried twice: but for alternatives and
    for stars of two kinds, of which there may be few: each of them multiplies the ways to try.
    """
    text, depth, i, star = "", 0, 0, ""
    wild = f"[^{separator}]*" if separator else ".*"
    is_plain = "{" not in glob and not (separator and "**" in glob)
    stars = glob.count("*")
    is_much = stars > _MOST_STARS or stars + glob.count("{") > _MOST_CHOICES
    if len(glob) > _LONGEST or (is_much and not is_plain):
        return None
    while i < len(glob):
        letter = glob[i]
        if letter == "*":
            is_double = glob[i : i + 2] == "**"
            # What is between the last star and this one is found for good.
            text = f"{text}(?>{star})" if star else text
            star = (".*" if is_double else wild) + "?" * is_plain
            text, star, i = (text, star, i + is_double) if is_plain else (text + star, "", i + is_double)
        else:
            one, depth, i = _piece(glob, i, depth, separator)
            text, star = (text, star + one) if star else (text + one, star)
        i += 1
    text += star
    with suppress(re.error):
        re.compile(text)
        return text
    return None


def _piece(glob: str, i: int, depth: int, separator: str) -> tuple[str, int, int]:
    """Return what stands at a place of a glob, how deep it is in alternatives, and where it ends."""
    letter = glob[i]
    if letter == "?":
        return f"[^{separator}]" if separator else ".", depth, i
    if letter == "[" and "]" in glob[i + 2 :]:
        end = glob.index("]", i + 2)
        # To Python, `&&`, `||`, `~~` and `--` may come to be operators, of which it warns.
        inside = re.sub(r"[\\[&|~]|(?<=-)-", r"\\\g<0>", glob[i + 1 : end])
        return "[" + ("^" + inside[1:] if inside[0] in "!^" else inside) + "]", depth, end
    if letter == "\\" and i + 1 < len(glob):
        return re.escape(glob[i + 1]), depth, i + 1
    if letter in "{}":
        return "(?:" if letter == "{" else ")", depth + (1 if letter == "{" else -1), i
    return "|" if letter == "," and depth else re.escape(letter), depth, i


def matches(glob: str, text: str, separator: str = "") -> bool | None:
    """Return whether Argo CD says that a glob matches; None if that is too much to try."""
    found = glob_pattern(glob, separator)
    return None if found is None else re.fullmatch(found, text, re.DOTALL) is not None


def files_below(applier: Applier, output: Output, home: str) -> dict[str, tuple[Output, str]]:
    """Return the files of an output that are below the folder of an applier, by their paths there."""
    inside = os.path.relpath(output.folder, applier.path)
    if inside == os.curdir:
        return {file: (output, file) for file in output.files}
    if inside.startswith(os.pardir):
        part = os.path.relpath(applier.path, output.folder) + os.sep
        return {file.removeprefix(part): (output, file) for file in output.files if file.startswith(part)}
    # A folder above: all of it is applied unless something lists what is; the root may be that of anything.
    folder = os.path.join(home, applier.path)
    recurses = applier.tool == "flux" or applier.recurses
    is_listed = any(os.path.exists(os.path.join(folder, name)) for name in ownership.KUSTOMIZATIONS)
    if is_listed or not (recurses or os.path.relpath(folder, home or os.curdir) not in (os.curdir, os.pardir)):
        return {}
    return {f"{inside}/{file}": (output, file) for file in output.files}


def url_of(url: str) -> str:
    """Return the URL of a repository as Argo CD compares it."""
    short = url.strip().lower().removesuffix("/").removesuffix(".git")
    if "://" not in short and ":" in short:
        short = "ssh://" + short.replace(":", "/", 1)
    return short


def is_at_or_below(path: str, folder: str) -> bool:
    """Return whether a normal path is that of a folder or of what is in it."""
    return path == folder or path.startswith(folder + os.sep)


def identity(applier: Applier) -> object:
    """What the cluster of the tool tells objects apart by."""
    return applier.kind, identity_of(applier.document.data)[0], applier.name


def source_of(applier: Applier) -> str:
    """Return what tells repositories apart as far as a document says it."""
    if applier.tool == "flux":
        reference = mapping(applier.get("sourceRef"))
        space = reference.get("namespace") or identity_of(applier.document.data)[0]
        return f"{reference.get('kind')} {space} {reference.get('name')}"
    return url_of(str(value_at(applier.spec, (*applier.source, "repoURL")) or ""))


class Around:
    """The documents of a repository for both tools, its branches and where it came from.

    `prefix` is the folder of trainc.yaml in the repository, whose root is `root`, and `base` finds the commit to compare with.
    """

    def __init__(self, documents: Sequence[Document], prefix: str, root: str, base: Callable[[], str | None]) -> None:
        """Take the documents; the rest is read when it is asked for."""
        self.documents, self.prefix, self._root = documents, prefix, root or os.curdir
        self._find_base = base

    @cached_property
    def _by_kind(self) -> dict[str, dict[str, list[Document]]]:
        found = dict[str, dict[str, list[Document]]]()
        for document in self.documents:
            of_kind = found.setdefault(str(document.data.get("kind")), {})
            of_kind.setdefault(identity_of(document.data)[1], []).append(document)
        return found

    @cached_property
    def _spelt(self) -> dict[str, list[list[str]]]:
        """The names of each kind, forwards and backwards, in order."""
        steps = (1, -1)
        return {kind: [sorted(name[::step] for name in each) for step in steps] for kind, each in self._by_kind.items()}

    def named(self, kind: str, name: str) -> Sequence[Document]:
        """Return the documents of a kind and name."""
        return self._by_kind.get(kind, {}).get(name, ())

    def near_name(self, kind: str, name: str) -> str:
        """Ask whether a near name of a document of this kind was meant."""
        near = set[str]()
        for step, names in zip((1, -1), self._spelt.get(kind, ()), strict=False):
            place = bisect(names, name[::step])
            near.update(other[::step] for other in names[max(place - _BESIDE, 0) : place + _BESIDE])
        return did_you_mean(name, near, 0.75, 1)

    def prefixed(self, folder: str) -> str:
        """Return a folder as both tools count, from the root of the repository."""
        return os.path.normpath(os.path.join(self.prefix, folder))

    @cached_property
    def _base(self) -> str | None:
        return self._find_base()

    @cached_property
    def origin(self) -> str:
        """The URL of the remote that is called origin, or an empty string."""
        with suppress(CompileError):
            return git.run_git(self._root, ["config", "--get", "remote.origin.url"]).decode(errors="replace").strip()
        return ""

    @cached_property
    def _branches(self) -> set[str]:
        refs = git.branches_and_tags(self._root)
        return {*refs, *(ref.partition("/")[2] for ref in refs)} - {""}

    def near_branch(self, branch: str) -> str:
        """Return the branch that a name misspells by a letter or two; others may be on the remote alone."""
        if branch in ("HEAD", *self._branches) or {*branch} & {*"0123456789{*"} or len(branch) < _SHORTEST:
            return ""
        return next((name for name in sorted(self._branches) if edit_distance(branch, name, 1) == 1), "")

    def near_repository(self, url: str) -> str:
        """Return the URL that another misspells: that of origin, in the form of the other."""
        mine, other = (url_of(each).rpartition("/")[2] for each in (self.origin, url))
        if not mine or mine == other or edit_distance(mine, other, 2) > 2 or min(len(mine), len(other)) < _SHORTEST:
            return ""
        if re.sub(r"[0-9]", "", mine) == re.sub(r"[0-9]", "", other):
            return ""  # Repositories may be numbered.
        at = url.lower().rindex(other)
        return url[:at] + mine + url[at + len(other) :]

    @cached_property
    def changed(self) -> dict[str, bytes | None]:
        """The files for both tools that the base does not have as they are, from the current folder, and what it has."""
        files = {document.file for document in self.documents}
        if not self._base:
            return {}
        with suppress(CompileError):
            files.update(_files_for_tools(self._root, [self._base]))
        texts = {os.path.relpath(file, self._root): b"" for file in files}
        for path in texts:
            with suppress(OSError):
                texts[path] = opening.read_file(os.path.join(self._root, path), Limits().file_bytes)
        with suppress(CompileError):
            found = git.find_changed_files(git.Repository(self._root, ""), self._base, texts, Limits())
            return {os.path.relpath(os.path.join(self._root, path)): text for path, text in found.items()}
        return {}

    def at_base(self) -> list[Document]:
        """Return the documents for both tools that the base has otherwise, or that are gone."""
        read = (
            yaml_reader.read_documents(text, file, Limits())[0]
            for file, text in self.changed.items()
            if text is not None
        )
        return _of_tools(document for documents in read for document in documents)

    def ignored(self, text: str, files: Iterable[tuple[Output, str]]) -> tuple[list[str], Source | None]:
        """Return the files that .sourceignore of the root and `ignore` of a GitRepository leave out.

        The place is that of the line of .sourceignore that leaves out the first, if it is one.
        """
        above, file = "", os.path.relpath(os.path.join(self._root, ".sourceignore"))
        with suppress(OSError):
            above = opening.read_file(file, Limits().file_bytes).decode(errors="replace").rstrip() + "\n"
        names = {self.prefixed(os.path.join(output.folder, name)): name for output, name in files}
        lines = [(number, line) for number, line in enumerate((above + text).splitlines(), 1) if line.strip()]
        paths, rules = [*names][:_MOST_FILES], [line for _, line in lines if line[0] != "!"]
        if not rules or "\0" in above + text or max(len(lines), *(len(line) for _, line in lines)) > _LONGEST:
            return [], None
        with suppress(CompileError):
            # Unlike git, Flux lets a rule bring back what is in a folder that is left out.
            back = self._matching([line[1:] for _, line in lines if line[0] == "!"], paths)
            left_out = self._matching(rules, paths) - back
            if left := [path for path in paths if path in left_out]:
                # The last line that does: the fewest lines at the end that leave it out begin with it.
                fewest = bisect(range(1, len(rules)), False, key=lambda n: bool(self._matching(rules[-n:], left[:1])))
                number = [n for n, line in lines if line[0] != "!"][-1 - fewest]
                is_above = 0 < number <= above.count("\n")
                return [names[path] for path in left], Source(file, number, 1) if is_above else None
        return [], None

    def _matching(self, rules: Sequence[str], paths: Sequence[str]) -> set[str]:
        """Return the paths that rules as in .gitignore leave out."""
        if not rules or not paths:
            return set()
        words = ["ls-files", "-zcoi", *(f"--exclude={rule}" for rule in rules), "--", *paths]
        return {*git.run_git(self._root, words).decode(errors="replace").split("\0")} - {""}
