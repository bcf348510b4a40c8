// The extension of VS Code: it starts `trainc lsp`, and says what to do where there is none.

const fs = require("node:fs");
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");
const { explainFailure, findProgram } = require("./program");

const WALKTHROUGH = "trainc.trainc#start";

let client;

// The command in the user's settings; undefined if only the extension's default is there.
function configured() {
  const { globalValue, workspaceValue, workspaceFolderValue } = vscode.workspace
    .getConfiguration("trainc")
    .inspect("command");
  return workspaceFolderValue ?? workspaceValue ?? globalValue;
}

async function start() {
  const trusted = vscode.workspace.isTrusted;
  const folders = (vscode.workspace.workspaceFolders ?? []).map((folder) => folder.uri.fsPath);
  const found = findProgram({ configured: configured(), folders, trusted }, fs.existsSync, process.platform);
  if (found === undefined) {
    return;
  }
  const [command, ...args] = found;
  client = new LanguageClient(
    "trainc",
    "trainc",
    { command, args },
    {
      documentSelector: [{ scheme: "file", language: "yaml" }, { scheme: "file", pattern: "**/*.{yaml,yml}.j2" }],
      synchronize: { fileEvents: vscode.workspace.createFileSystemWatcher("**/*.{yaml,yml,json,j2}") },
    },
  );
  try {
    await client.start();
  } catch (error) {
    const choice = await vscode.window.showErrorMessage(
      explainFailure(command, error.message),
      "How to install",
      "Settings",
    );
    if (choice === "How to install") {
      await vscode.commands.executeCommand("workbench.action.openWalkthrough", WALKTHROUGH);
    } else if (choice === "Settings") {
      await vscode.commands.executeCommand("workbench.action.openSettings", "trainc.command");
    }
  }
}

async function stop() {
  const stopped = client;
  client = undefined;
  if (stopped !== undefined && stopped.needsStop()) {
    await stopped.stop();
  }
}

async function activate(context) {
  const restart = async () => {
    await stop();
    await start();
  };
  context.subscriptions.push(
    vscode.commands.registerCommand("trainc.restart", restart),
    vscode.workspace.onDidChangeConfiguration((event) => event.affectsConfiguration("trainc.command") && restart()),
    vscode.workspace.onDidGrantWorkspaceTrust(restart),
  );
  await start();
}

module.exports = { activate, deactivate: stop };
