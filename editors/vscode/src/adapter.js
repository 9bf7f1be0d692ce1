// The adapter is the command itself: `opscope dap`.

const vscode = require("vscode");

const adapterFactory = {
  createDebugAdapterDescriptor(session) {
    const settings = vscode.workspace.getConfiguration("opscope", session.workspaceFolder);
    return new vscode.DebugAdapterExecutable(settings.get("command"), ["dap"]);
  },
};

module.exports = { adapterFactory };
