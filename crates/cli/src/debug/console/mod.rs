//! The console: the state of a session and what its commands do.

mod breakpoints;
pub mod data;
mod execution;
mod info;
pub mod modify;
mod modules;
mod together;

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use opscope::debug::client::Client;
use opscope::debug::{BreakpointId, Event, EventSet, ModelId, Resume, Sequence};
use serde_json::json;

use super::command::{self, Command};
use super::debuggee::Debuggee;
use super::events::Inbox;
use super::output::Output;
use execution::has_failed;
pub use together::Polled;

/// The state of a session.
pub struct Console {
    client: Arc<Client>,
    inbox: Arc<Inbox>,
    /// The model that runs in this process; `None` when attached to another program.
    debuggee: Option<Debuggee>,
    pub output: Output,
    /// The event of the stopped run that commands apply to.
    current: Option<Sequence>,
    /// The model that commands apply to when no run is stopped.
    model: Option<ModelId>,
    /// The events that the user wants to see.
    shown: EventSet,
    /// The command that an empty line repeats.
    repeat: Option<Command>,
    /// The next line of the listing.
    listing: Option<(ModelId, usize)>,
    /// The module that was chosen at a stop: how many modules it is in, itself included.
    module: Option<(Sequence, usize)>,
    /// The breakpoints with conditions for which no error was reported yet.
    conditional: BTreeSet<BreakpointId>,
    /// Runs that a command aborted.
    aborted: BTreeSet<u64>,
    /// Whether a run failed that no command aborted.
    pub run_failed: bool,
    /// The last stop that was reported while no command waited for one.
    unawaited: Option<Sequence>,
    /// Whether the program is gone.
    pub gone: bool,
    /// How deeply command files are nested now.
    depth: usize,
    /// Whether the session is over: a command ended it, or the program is gone.
    pub over: bool,
}

/// A command of a file failed; its error was reported already.
#[derive(Debug, thiserror::Error)]
#[error("a command of the file failed")]
struct Reported;

/// How deeply command files may be nested. This limit stops a file that runs itself.
const DEEPEST: usize = 16;

/// The largest file of commands.
const LARGEST_FILE: u64 = 16 << 20;

/// Returns the text of a file of commands.
///
/// # Errors
/// Returns an error if it cannot be read.
pub fn commands_of(path: &Path) -> Result<String> {
    let read = || -> io::Result<String> {
        let text = opscope::files::read_to_end(&mut opscope::files::open_given(path)?, LARGEST_FILE)?;
        String::from_utf8(text).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
    };
    read().with_context(|| format!("{} cannot be read", path.display()))
}

/// Runs the lines of a file with `run`, which gets a line and its place, and returns whether it succeeded, whether the
/// program is gone, and whether the session is over.
///
/// # Errors
/// As [`Console::source`].
pub fn run_lines(
    name: &str,
    lines: impl Iterator<Item = io::Result<String>>,
    mut run: impl FnMut(&str, &str) -> (bool, bool, bool),
) -> Result<()> {
    let is_command = |line: &io::Result<String>| {
        line.as_ref().map_or(true, |line| !line.trim().is_empty() && !line.trim().starts_with('#'))
    };
    let mut lines = lines.enumerate().filter(|(_, line)| is_command(line)).peekable();
    while let Some((number, line)) = lines.next() {
        let place = format!("{name}:{}", number + 1);
        let line = line.with_context(|| format!("{place}: the line cannot be read"))?;
        let line = line.trim();
        let (line, may_fail) = line.strip_prefix('-').map_or((line, false), |line| (line, true));
        let (is_done, is_gone, is_over) = run(line, &place);
        if !is_done && !may_fail {
            bail!(Reported);
        }
        if is_gone && lines.peek().is_some() {
            bail!("{place}: the program is gone, and not all commands were run");
        }
        if is_over {
            break;
        }
    }
    Ok(())
}

impl Console {
    /// Makes the console of a session with another program, or with a model of this process.
    pub fn new(client: Arc<Client>, inbox: Arc<Inbox>, debuggee: Option<Debuggee>, output: Output) -> Self {
        Self {
            client,
            inbox,
            debuggee,
            output,
            current: None,
            model: None,
            shown: EventSet::default(),
            repeat: None,
            listing: None,
            module: None,
            conditional: BTreeSet::new(),
            aborted: BTreeSet::new(),
            run_failed: false,
            unawaited: None,
            gone: false,
            depth: 0,
            over: false,
        }
    }

    /// Runs a line. Reports an error itself, and returns whether there was none.
    pub fn line(&mut self, line: &str, place: Option<&str>) -> bool {
        let outcome = self.try_line(line);
        if let Err(error) = &outcome {
            self.refuse(place, error);
        }
        if self.output.json {
            self.output.result("done", json!({ "command": line.trim(), "ok": outcome.is_ok() }), "");
        }
        outcome.is_ok()
    }

    /// Reports an error, unless it was reported already.
    pub fn refuse(&self, place: Option<&str>, error: &anyhow::Error) {
        if !error.is::<Reported>() {
            self.output.error(place, error);
        }
    }

    fn try_line(&mut self, line: &str) -> Result<()> {
        let line = line.trim();
        let command = match (line, &self.repeat) {
            ("", None) => return Ok(()),
            ("", Some(command)) => command.clone(),
            (line, _) => command::parse(line)?,
        };
        self.repeat = match &command {
            Command::Step(_) | Command::Next(_) | Command::Continue { .. } => Some(command.clone()),
            Command::List(_) => Some(Command::List(None)),
            _ => None,
        };
        self.execute(command)
    }

    /// Runs the commands of a file. Lines that begin with `#` are comments; the first command that fails ends it,
    /// unless its line begins with `-`.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or a command failed; its error was reported already.
    pub fn source(&mut self, path: &Path) -> Result<()> {
        if self.depth == DEEPEST {
            bail!("{} is the {DEEPEST}th file within files; does one run itself?", path.display());
        }
        let text = commands_of(path)?;
        self.depth += 1;
        let outcome = self.lines(&path.display().to_string(), text.lines().map(|line| Ok(line.to_owned())));
        self.depth -= 1;
        outcome
    }

    /// Runs lines as if they were those of a file.
    ///
    /// # Errors
    /// As [`source`](Self::source).
    pub fn lines(&mut self, name: &str, lines: impl Iterator<Item = io::Result<String>>) -> Result<()> {
        run_lines(name, lines, |line, place| (self.line(line, Some(place)), self.gone, self.over))
    }

    fn execute(&mut self, command: Command) -> Result<()> {
        match command {
            Command::Run { runs, threads } => self.run(runs, threads),
            Command::Break(spec) => self.add_breakpoint(*spec),
            Command::CatchErrors => self.catch_errors(),
            Command::Condition { breakpoint, condition } => self.set_condition(breakpoint, condition),
            Command::Ignore { breakpoint, hits } => self.ignore(breakpoint, hits),
            Command::Enable { breakpoints, enabled } => self.enable(breakpoints, enabled),
            Command::Delete(breakpoints) => self.delete(breakpoints),
            Command::Info(info) => self.info(info),
            Command::Print(part) => self.print(&part),
            Command::Apply { function, tensor } => self.apply(function, &tensor),
            Command::Statistics(part) => self.statistics(&part),
            Command::Histogram(part) => self.histogram(&part),
            Command::TopK { tensor, count, by_magnitude } => self.top_k(&tensor, count, by_magnitude),
            Command::Save { tensor, path } => self.save(&tensor, &path),
            Command::Set { tensor, with } => self.set(&tensor, &with),
            Command::List(around) => self.list(around.as_ref()),
            Command::Where => self.location(),
            Command::Backtrace(most) => self.backtrace(most),
            Command::Up(modules) => self.up(modules),
            Command::Down(modules) => self.down(modules),
            Command::Evaluate(expression) => self.evaluate(&expression),
            Command::Thread(run) => self.thread(run),
            Command::Rank(_) | Command::All(..) => {
                bail!("one process is debugged; several are attached to by --attach PID,PID")
            }
            Command::Model(number) => self.choose_model(number),
            Command::Step(steps) => self.step(steps, &Resume::Step),
            Command::Next(steps) => self.step(steps, &Resume::Over),
            Command::Finish => self.finish(),
            Command::Until(target) => self.until(target),
            Command::Continue { pass } => self.continue_run(pass),
            Command::ContinueAll => self.continue_all(),
            Command::Skip(skip) => self.skip(&skip),
            Command::Abort(reason) => self.abort(reason),
            Command::AbortAll(reason) => self.abort_all(reason),
            Command::Pause => self.pause(),
            Command::Wait => self.await_stop(),
            Command::Events(events) => self.events(events),
            Command::Source(path) => self.source(&path),
            Command::Echo(text) => {
                self.output.result("echo", json!({ "text": text }), &text);
                Ok(())
            }
            Command::Help(word) => {
                let text = command::help(&word)?;
                self.output.result("help", json!({ "text": text }), &text);
                Ok(())
            }
            Command::Detach => self.detach(),
            Command::Quit => {
                self.over = true;
                Ok(())
            }
        }
    }

    /// Returns whether a run is stopped.
    pub fn is_stopped(&self) -> bool {
        !self.inbox.stops().is_empty()
    }

    /// Cancels this process's pending runs, or releases the runs of the program that it is attached to.
    pub fn close(&self) {
        match &self.debuggee {
            Some(debuggee) => debuggee.cancel(),
            // An error means that the program is gone.
            None => drop(self.release()),
        }
    }

    /// Returns the event of the stopped run that commands apply to: the chosen one, or else the one that stopped first.
    fn stop(&self) -> Result<Event> {
        let chosen = self.current.and_then(|event| self.inbox.stop(event));
        match chosen.or_else(|| self.inbox.stops().into_iter().next()) {
            Some(stop) => Ok(stop),
            None if self.debuggee.is_some() => {
                bail!("no run is stopped; set a breakpoint with `break` and start one with `run`")
            }
            None => bail!("no run is stopped; `break` and `wait` stop one at an operator, and `pause` at its next one"),
        }
    }

    /// Returns the same event if the run has its tensors and can continue.
    fn stop_in_run(&self) -> Result<Event> {
        let stop = self.stop()?;
        if has_failed(&stop) {
            let before = stop
                .kind
                .position()
                .map(|place| format!("; `break #{}` stops the next one before that", place.operator));
            bail!("the run has failed, and its tensors are gone{}", before.unwrap_or_default());
        }
        Ok(stop)
    }

    /// Returns the model that commands apply to.
    fn model(&self) -> Result<ModelId> {
        if let Ok(stop) = self.stop()
            && let Ok(status) = self.client.status()
            && let Some(run) = status.runs.iter().find(|run| run.stopped == Some(stop.sequence))
        {
            return Ok(run.model);
        }
        let models = self.client.models()?;
        let chosen = self.model.filter(|chosen| models.iter().any(|model| model.model == *chosen));
        let newest = models.last().map(|model| model.model);
        chosen.or(newest).context("the program has no model loaded")
    }
}
