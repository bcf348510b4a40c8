// The extension of VS Code: it starts `trainc lsp`, and says how to install trainc where there is none.

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

async function start(context) {
  const [command, ...args] = vscode.workspace.getConfiguration("trainc").get("command");
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
    const message = `trainc: ${command} cannot be started (${error.message}). Install it with: pip install 'pygls>=2.1,<3'`;
    vscode.window.showErrorMessage(message);
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
    await start(context);
  };
  context.subscriptions.push(
    vscode.commands.registerCommand("trainc.restart", restart),
    vscode.workspace.onDidChangeConfiguration((event) => event.affectsConfiguration("trainc.command") && restart()),
  );
  await start(context);
}

module.exports = { activate, deactivate: stop };
