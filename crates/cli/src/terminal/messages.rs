use std::fmt::Display;
use std::io::{self, Write};

use opscope::onnx::Graph;
use opscope::text::shown_text;
use opscope_job::inputs::Inputs;

/// Messages for the person at the terminal.
#[derive(Debug, Clone, Copy)]
pub struct Messages {
    /// No messages but errors.
    pub quiet: bool,
    /// More messages.
    pub debug: bool,
}

impl Messages {
    /// A detail of what the command does, for `--debug`.
    pub fn debug(self, text: impl Display) {
        if self.debug {
            self.say("debug", text);
        }
    }

    /// Something that is useful to know.
    pub fn note(self, text: impl Display) {
        self.say("note", text);
    }

    /// Something that was asked for does not happen.
    pub fn warning(self, text: impl Display) {
        self.say("warning", text);
    }

    /// Says which files are fed to which inputs, where there is a choice, and what of it may not be meant.
    pub fn fed(self, inputs: &Inputs, graph: &Graph) {
        let Some(files) = inputs.files() else { return };
        if !files.is_evident() {
            self.note(format!("inputs: {}", files.described(graph)));
        }
        files.warnings().iter().for_each(|warning| self.warning(warning));
    }

    fn say(self, kind: &str, text: impl Display) {
        if !self.quiet {
            // The command continues if stderr is closed.
            let _ = writeln!(io::stderr(), "{kind}: {}", shown_text(&text.to_string()));
        }
    }
}
