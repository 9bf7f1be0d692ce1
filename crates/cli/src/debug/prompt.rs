//! The prompt: reads lines from a terminal with line editing, or from plain text.
//!
//! Completion with Tab: commands, operators, types, values, tensors, files.

use std::borrow::Cow;
use std::fs;
use std::io::{self, BufRead, IsTerminal};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use opscope::debug::client::Client;
use opscope::debug::expression::Function;
use opscope::debug::{EventName, ModelId};
use opscope::text::shown_text;
use opscope_sys::Mutex;
use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::Validator;
use rustyline::{CompletionType, Config, Context, Editor, Helper, Result};

use super::events::Inbox;
use crate::debug::command::{COMMANDS, TOPICS, Words, find};

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

/// Completes words at the prompt.
pub struct Completion {
    client: Arc<Client>,
    files: FilenameCompleter,
    /// The names of the models that are loaded.
    names: Mutex<Names>,
}

#[derive(Default)]
struct Names {
    models: Vec<ModelId>,
    operators: Vec<String>,
    types: Vec<String>,
    values: Vec<String>,
}

impl Completion {
    /// Makes a completion with the names of a program's models.
    pub fn new(client: Arc<Client>) -> Self {
        Self { client, files: FilenameCompleter::new(), names: Mutex::default() }
    }

    /// Calls `work` with the names of the models that are loaded now.
    fn with_names<R>(&self, work: impl FnOnce(&Names) -> R) -> R {
        let mut names = self.names.lock();
        if let Ok(models) = self.client.models() {
            let models: Vec<ModelId> = models.iter().map(|model| model.model).collect();
            if names.models != models {
                *names = Names::of(&self.client, models);
            }
        }
        work(&names)
    }

    fn words(&self, words: Words, line: &str, word: &str) -> Vec<String> {
        let owned = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        match words {
            Words::Commands => COMMANDS.iter().map(|row| row.name.to_owned()).collect(),
            Words::Topics if line.split_whitespace().nth(1).is_some_and(|topic| topic.starts_with("operator")) => {
                self.targets(word)
            }
            Words::Topics => owned(TOPICS),
            Words::Catch => owned(&["nan", "inf", "nonfinite", "error"]),
            Words::Events => {
                let names = EventName::ALL.iter().map(|name| name.as_str());
                names.chain(["all", "default", "none"]).map(str::to_owned).collect()
            }
            Words::Targets => self.targets(word),
            Words::Breakpoint => self.breakpoint(&line[..line.len() - word.len()], word),
            Words::Tensors | Words::TensorsAndFiles => {
                let mut words = owned(&["input[0]", "output[0]", "weight[0]", "value(\""]);
                words.extend(self.with_names(|names| names.values.clone()));
                words
            }
            Words::Nothing | Words::Files => Vec::new(),
        }
    }

    /// Returns the words that can come next in `break PLACE [before|after] [run N] [if CONDITION]`.
    fn breakpoint(&self, before: &str, word: &str) -> Vec<String> {
        let owned = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        let said: Vec<&str> = before.split_whitespace().skip(1).collect();
        match said[..] {
            [] => self.targets(word),
            ["first"] => owned(&["nonfinite", "nan", "inf"]),
            [_, .., "run"] => Vec::new(),
            _ if said.contains(&"if") => {
                let words = ["input[0]", "output[0]", "weight[0]", "value(\"", "and", "or", "not"];
                Function::ALL.map(|(_, name)| name).into_iter().chain(words).map(str::to_owned).collect()
            }
            _ => owned(&["before", "after", "run", "if"]),
        }
    }

    /// Returns operators and types, with the prefix that was typed.
    fn targets(&self, word: &str) -> Vec<String> {
        let prefixed = |prefix: &str, names: &[String]| names.iter().map(|name| format!("{prefix}{name}")).collect();
        self.with_names(|names| match word.split_once(':') {
            Some(("name", _)) => prefixed("name:", &names.operators),
            Some(("type", _)) => prefixed("type:", &names.types),
            _ => {
                let mut words = [names.operators.clone(), names.types.clone()].concat();
                words.extend(["name:", "type:", "first nonfinite", "first nan", "first inf"].map(str::to_owned));
                words
            }
        })
    }
}

impl Names {
    fn of(client: &Client, models: Vec<ModelId>) -> Self {
        let mut names = Names { models, ..Names::default() };
        for &model in &names.models {
            let mut passed = 0;
            while let Ok(page) = client.operators(model, "*", passed, usize::MAX)
                && !page.operators.is_empty()
            {
                passed += page.operators.len();
                for row in page.operators {
                    names.operators.push(row.name);
                    names.types.push(row.op_type);
                    names.values.extend(row.inputs.into_iter().chain(row.outputs).flatten());
                }
            }
        }
        for list in [&mut names.operators, &mut names.types, &mut names.values] {
            // A name with invisible characters cannot be typed.
            list.retain(|name| matches!(shown_text(name), Cow::Borrowed(_)));
            list.sort();
            list.dedup();
        }
        names
    }
}

impl Completer for Completion {
    type Candidate = Pair;

    fn complete(&self, line: &str, pos: usize, context: &Context<'_>) -> Result<(usize, Vec<Pair>)> {
        let typed = &line[..pos];
        let begin = typed.len() - typed.trim_start().len();
        let Some(end) = typed[begin..].find(char::is_whitespace) else {
            let names = COMMANDS.iter().map(|row| row.name.to_owned()).collect();
            return Ok((begin, fitting(names, &typed[begin..])));
        };
        let Ok(row) = find(&typed[begin..begin + end]) else { return Ok((pos, Vec::new())) };
        let start = typed.rfind([' ', '\t', '"', '(', '=']).map_or(0, |at| at + 1);
        let word = &typed[start..];
        let found = fitting(self.words(row.words, typed, word), word);
        if found.is_empty() && matches!(row.words, Words::Files | Words::TensorsAndFiles) {
            return self.files.complete(line, pos, context);
        }
        Ok((start, found))
    }
}

/// Returns the words that begin with the typed text or, where there are none, those that contain it.
fn fitting(words: Vec<String>, typed: &str) -> Vec<Pair> {
    let pair = |word: &String| Pair { display: word.clone(), replacement: word.clone() };
    let begun: Vec<Pair> = words.iter().filter(|word| word.starts_with(typed)).map(pair).collect();
    match begun.is_empty() && typed.len() > 1 {
        true => words.iter().filter(|word| word.contains(typed)).map(pair).collect(),
        false => begun,
    }
}

impl Hinter for Completion {
    type Hint = String;
}

impl Highlighter for Completion {}

impl Validator for Completion {}

impl Helper for Completion {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_name_finds_it_where_none_begins_with_it() {
        let words = || ["/conv1/Conv", "/conv2/Conv", "/relu1/Relu"].map(str::to_owned).to_vec();
        let texts = |typed| fitting(words(), typed).into_iter().map(|pair| pair.replacement).collect::<Vec<_>>();
        assert_eq!(texts("/conv"), ["/conv1/Conv", "/conv2/Conv"]);
        assert_eq!(texts("relu1"), ["/relu1/Relu"]);
        assert_eq!(texts("x"), [""; 0]);
    }
}
