//! Where lines come from: a terminal with line editing, or plain text.

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

const NO_TEXT: &str = "the line is no text in UTF-8, and was not run";

/// Where lines come from.
pub enum Prompt {
    /// A person at a terminal.
    Terminal {
        /// Line editing, history and completion.
        editor: Box<Editor<Completion, FileHistory>>,
        /// Where the history is kept, if there is a place.
        history: Option<PathBuf>,
    },
    /// A pipe or a file.
    Plain,
}

/// What was typed.
#[derive(Debug, PartialEq, Eq)]
pub enum Typed {
    /// A line.
    Line(String),
    /// No text; why not.
    Unreadable(String),
    /// Ctrl-C: the line is thrown away.
    Cleared,
    /// Ctrl-D, or the end of the input.
    End,
}

impl Prompt {
    /// Line editing where stdin is a terminal.
    pub fn new(client: &Arc<Client>) -> Self {
        if !io::stdin().is_terminal() {
            return Prompt::Plain;
        }
        let config = Config::builder().completion_type(CompletionType::List).history_ignore_space(true).build();
        let Ok(mut editor) = Editor::with_config(config) else { return Prompt::Plain };
        editor.set_helper(Some(Completion::new(Arc::clone(client))));
        let history = history();
        if let Some(path) = &history {
            // There is none the first time.
            let _ = editor.load_history(path);
        }
        Prompt::Terminal { editor: Box::new(editor), history }
    }

    /// Reads a line. The inbox is told when someone types.
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
                    // A history that cannot be kept is no reason to stop.
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

/// `$XDG_STATE_HOME/opscope/history`, or what stands for it in the home directory.
fn history() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
    let directory = state.join("opscope");
    fs::create_dir_all(&directory).ok()?;
    Some(directory.join("history"))
}
