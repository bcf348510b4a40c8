// Which trainc to start: the configured one, else that of a virtual environment in the workspace, else the one on PATH.

const path = require("node:path");

const FOLDERS = [".venv", "venv"];

// `workspace` has the configured command, the folders that are open, and whether their authors are trusted: a program in a
// folder that somebody else wrote is not started before.
function findProgram({ configured, folders, trusted }, exists, platform) {
  if (configured !== undefined) {
    return configured;
  }
  const parts = platform === "win32" ? ["Scripts", "trainc.exe"] : ["bin", "trainc"];
  const candidates = folders.flatMap((folder) => FOLDERS.map((name) => path.join(folder, name, ...parts)));
  const found = trusted ? candidates.find(exists) : undefined;
  return [found ?? "trainc", "lsp"];
}

// What to say if it cannot be started.
function explainFailure(program, reason, trusted) {
  const where = program === "trainc" ? "neither in .venv of this workspace nor on PATH" : program;
  const trust = trusted ? "" : " The workspace is not trusted, so its .venv was not searched.";
  return `trainc cannot be started (${where}: ${reason}).${trust} Install trainc and pip install 'pygls>=2.1,<3' in .venv.`;
}

module.exports = { explainFailure, findProgram };
