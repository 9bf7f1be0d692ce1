//! The prompt: reads lines from a terminal with line editing, or from plain text.

mod completion;

use std::fs;
use std::io::{self, BufRead, IsTerminal};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use opscope::debug::client::Client;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{CompletionType, Config, Editor};

use super::events::Inbox;
use completion::Completion;

const PROMPT: &str = "(opscope) ";

const NO_TEXT: &str = "the line is not UTF-8 text and was not run";

/// A source of lines.
pub enum Prompt {
    /// A terminal.
    Terminal {
        /// Line editing, history and completion.
        editor: Box<Editor<Completion, FileHistory>>,
        /// The file of the history, if it can be kept.
        history: Option<PathBuf>,
    },
    /// A pipe or a file.
    Plain,
}

/// The result of reading a line.
#[derive(Debug, PartialEq, Eq)]
pub enum Typed {
    /// A line.
    Line(String),
    /// The line is not text, for this reason.
    Unreadable(String),
    /// Ctrl-C: the line is discarded.
    Cleared,
    /// Ctrl-D, or the end of the input.
    End,
}

impl Prompt {
    /// Makes a prompt, with line editing if stdin is a terminal.
    pub fn new(client: &Arc<Client>) -> Self {
        if !io::stdin().is_terminal() {
            return Prompt::Plain;
        }
        let config = Config::builder().completion_type(CompletionType::List).history_ignore_space(true).build();
        let Ok(mut editor) = Editor::with_config(config) else { return Prompt::Plain };
        editor.set_helper(Some(Completion::new(Arc::clone(client))));
        let history = history();
        if let Some(path) = &history {
            // The file does not exist in the first session.
            let _ = editor.load_history(path);
        }
        Prompt::Terminal { editor: Box::new(editor), history }
    }

    /// Reads a line. The inbox knows meanwhile that the prompt waits.
    pub fn read(&mut self, inbox: &Inbox) -> Typed {
        inbox.reads(true);
        let typed = self.read_line(inbox);
        inbox.reads(false);
        typed
    }

    fn read_line(&mut self, inbox: &Inbox) -> Typed {
        let Prompt::Terminal { editor, history } = self else {
            let mut line = Vec::new();
            return match io::stdin().lock().read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => Typed::End,
                Ok(_) => String::from_utf8(line).map_or_else(|_| Typed::Unreadable(NO_TEXT.to_owned()), Typed::Line),
            };
        };
        inbox.typing.store(true, Ordering::Relaxed);
        let read = editor.readline(PROMPT);
        inbox.typed.fetch_add(1, Ordering::Relaxed);
        inbox.typing.store(false, Ordering::Relaxed);
        match read {
            Ok(line) => {
                if !line.trim().is_empty()
                    && editor.add_history_entry(&line).unwrap_or(false)
                    && let Some(path) = history
                {
                    // The session works without a history.
                    let _ = editor.append_history(path);
                }
                Typed::Line(line)
            }
            Err(ReadlineError::Interrupted) => Typed::Cleared,
            Err(ReadlineError::Io(error)) if error.kind() == io::ErrorKind::InvalidData => {
                Typed::Unreadable(NO_TEXT.to_owned())
            }
            Err(_) => Typed::End,
        }
    }
}

/// Returns the path of the history: `$XDG_STATE_HOME/opscope/history`, or `~/.local/state/opscope/history`.
fn history() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
    let directory = state.join("opscope");
    fs::create_dir_all(&directory).ok()?;
    Some(directory.join("history"))
}
