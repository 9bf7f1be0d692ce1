// Colours of the editor's own themes, for pages that are shown without it.

// Runs in the page.
function theme(name) {
  const dark = {
    "editor-foreground": "#cccccc", "editor-background": "#1f1f1f", descriptionForeground: "#9d9d9d", errorForeground: "#f85149",
    "input-background": "#313131", "input-foreground": "#cccccc", "input-border": "#3c3c3c", "button-secondaryBackground": "#313131",
    "button-secondaryForeground": "#cccccc", focusBorder: "#0078d4", "charts-blue": "#59a4f9", "editorWarning-foreground": "#cca700",
  };
  const light = {
    "editor-foreground": "#3b3b3b", "editor-background": "#ffffff", descriptionForeground: "#3b3b3b", errorForeground: "#f85149",
    "input-background": "#ffffff", "input-foreground": "#3b3b3b", "input-border": "#cecece", "button-secondaryBackground": "#e5e5e5",
    "button-secondaryForeground": "#3b3b3b", focusBorder: "#005fb8", "charts-blue": "#0063d3", "editorWarning-foreground": "#bf8803",
  };
  for (const [key, value] of Object.entries(name === "dark" ? dark : light)) {
    document.documentElement.style.setProperty(`--vscode-${key}`, value);
  }
}

module.exports = { theme };
