const vscode = require("vscode");
const { adapterFactory } = require("./src/adapter");
const { TensorViews } = require("./src/tensor-views");

function activate(context) {
  context.subscriptions.push(vscode.debug.registerDebugAdapterDescriptorFactory("opscope", adapterFactory));
  new TensorViews(context);
}

module.exports = { activate };
