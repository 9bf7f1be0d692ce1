use std::fmt::Display;
use std::io::{self, Write};

use opscope::onnx::Graph;
use opscope::text::shown_text;
use opscope_job::inputs::Inputs;

/// Messages for the person at the terminal.
#[derive(Debug, Clone, Copy)]
pub struct Messages {
    /// Whether only errors are printed.
    pub quiet: bool,
    /// Whether details are printed, too.
    pub debug: bool,
}

impl Messages {
    /// Prints a detail of what the command does, for `--debug`.
    pub fn debug(self, text: impl Display) {
        if self.debug {
            self.say("debug", text);
        }
    }

    /// Prints something that is useful to know.
    pub fn note(self, text: impl Display) {
        self.say("note", text);
    }

    /// Prints that a request is not fulfilled.
    pub fn warning(self, text: impl Display) {
        self.say("warning", text);
    }

    /// Prints which files are fed to which inputs, if there is a choice, and what may be unintended about it.
    pub fn fed(self, inputs: &Inputs, graph: &Graph) {
        let Some(files) = inputs.files() else { return };
        if !files.is_evident() {
            self.note(format!("inputs: {}", files.described(graph)));
        }
        files.warnings().iter().for_each(|warning| self.warning(warning));
    }

    fn say(self, kind: &str, text: impl Display) {
        if !self.quiet {
            // The line is written in one piece, so that a killed process leaves no partial line. The command continues
            // if stderr is closed.
            let line = format!("{kind}: {}\n", shown_text(&text.to_string()));
            let _ = io::stderr().write_all(line.as_bytes());
        }
    }
}
