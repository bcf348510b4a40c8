// Which trainc to start: the configured one, else that of a virtual environment in the workspace, else the one on PATH.

const path = require("node:path");

const FOLDERS = [".venv", "venv"];

// `workspace` has the configured command, the folders that are open, and whether their authors are trusted: nothing is
// started before they are, since the command and the environment may be theirs.
function findProgram({ configured, folders, trusted }, exists, platform) {
  if (!trusted || configured !== undefined) {
    return trusted ? configured : undefined;
  }
  const parts = platform === "win32" ? ["Scripts", "trainc.exe"] : ["bin", "trainc"];
  const candidates = folders.flatMap((folder) => FOLDERS.map((name) => path.join(folder, name, ...parts)));
  return [candidates.find(exists) ?? "trainc", "lsp"];
}

// What to say if it cannot be started.
function explainFailure(program, reason) {
  const where = program === "trainc" ? "neither in .venv of this workspace nor on PATH" : program;
  return `trainc cannot be started (${where}: ${reason}). Install trainc and pip install 'pygls>=2.1,<3' in .venv.`;
}

module.exports = { explainFailure, findProgram };
