// The adapter is the command itself: `opscope dap`.
const vscode = require("vscode");

function activate(context) {
  const factory = {
    createDebugAdapterDescriptor(session) {
      const settings = vscode.workspace.getConfiguration("opscope", session.workspaceFolder);
      return new vscode.DebugAdapterExecutable(settings.get("command"), ["dap"]);
    },
  };
  context.subscriptions.push(vscode.debug.registerDebugAdapterDescriptorFactory("opscope", factory));
}

module.exports = { activate, deactivate() {} };
