//! What commands do.

mod breakpoints;
mod data;
mod execution;
mod info;
mod modify;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::{fs, io};

use anyhow::{Context, Result, bail};
use opscope::debug::client::Client;
use opscope::debug::{BreakpointId, Event, EventSet, ModelId, Sequence};
use serde_json::json;

use super::command::{self, Command};
use super::debuggee::Debuggee;
use super::events::Inbox;
use super::output::Output;
use execution::has_failed;

/// The state of a session.
pub struct Console {
    client: Arc<Client>,
    inbox: Arc<Inbox>,
    /// The model that runs in this process; none of a program that was attached to.
    debuggee: Option<Debuggee>,
    pub output: Output,
    /// The stopped run that commands mean.
    current: Option<Sequence>,
    /// The model that commands mean where nothing is stopped.
    model: Option<ModelId>,
    /// What the person wants to be told.
    shown: EventSet,
    /// What an empty line repeats.
    repeat: Option<Command>,
    /// The line of the listing that comes next.
    listing: Option<(ModelId, usize)>,
    /// Breakpoints whose conditions may fail to be evaluated, which was not told.
    conditional: BTreeSet<BreakpointId>,
    /// Runs that were ended by a command.
    aborted: BTreeSet<u64>,
    /// Whether a run failed that was not ended by a command.
    pub run_failed: bool,
    /// The last stop that was told while no command waited for one.
    unawaited: Option<Sequence>,
    /// Whether the program is gone.
    pub gone: bool,
    /// Files within files.
    depth: usize,
    /// Whether the session is over: a command said so, or there is nothing more to debug.
    pub over: bool,
}

/// A command of a file failed, and has said so.
#[derive(Debug, thiserror::Error)]
#[error("a command of the file failed")]
struct WasTold;

/// Files may run files, but not forever.
const DEEPEST: usize = 16;

impl Console {
    /// A session with a program, or with a model of our own.
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
            conditional: BTreeSet::new(),
            aborted: BTreeSet::new(),
            run_failed: false,
            unawaited: None,
            gone: false,
            depth: 0,
            over: false,
        }
    }

    /// Runs a line as it was typed. Says on its own what went wrong, and returns whether nothing did.
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

    /// Says what went wrong, unless that was said already.
    pub fn refuse(&self, place: Option<&str>, error: &anyhow::Error) {
        if !error.is::<WasTold>() {
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
            Command::Step(_) | Command::Continue { .. } => Some(command.clone()),
            Command::List(_) => Some(Command::List(None)),
            _ => None,
        };
        self.execute(command)
    }

    /// Runs the commands of a file. Lines that begin with `#` are comments; the first command that fails ends it, unless
    /// its line begins with `-`.
    ///
    /// # Errors
    /// When the file cannot be read, or a command failed; that one was told already.
    pub fn source(&mut self, path: &Path) -> Result<()> {
        if self.depth == DEEPEST {
            bail!("{} is the {DEEPEST}th file within files; does one run itself?", path.display());
        }
        let text = fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?;
        self.depth += 1;
        let outcome = self.lines(&path.display().to_string(), text.lines().map(|line| Ok(line.to_owned())));
        self.depth -= 1;
        outcome
    }

    /// Runs lines as those of a file, as they come.
    ///
    /// # Errors
    /// As [`source`](Self::source).
    pub fn lines(&mut self, name: &str, lines: impl Iterator<Item = io::Result<String>>) -> Result<()> {
        let is_command = |line: &io::Result<String>| {
            line.as_ref().map_or(true, |line| !line.trim().is_empty() && !line.trim().starts_with('#'))
        };
        let mut lines = lines.enumerate().filter(|(_, line)| is_command(line)).peekable();
        while let Some((number, line)) = lines.next() {
            let place = format!("{name}:{}", number + 1);
            let line = line.with_context(|| format!("{place}: the line cannot be read"))?;
            let line = line.trim();
            let (line, may_fail) = line.strip_prefix('-').map_or((line, false), |line| (line, true));
            if !self.line(line, Some(&place)) && !may_fail {
                bail!(WasTold);
            }
            if self.gone && lines.peek().is_some() {
                bail!("{place}: the program is gone, and not all commands were run");
            }
            if self.over {
                break;
            }
        }
        Ok(())
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
            Command::Thread(run) => self.thread(run),
            Command::Model(number) => self.choose_model(number),
            Command::Step(steps) => self.step(steps),
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

    /// Lets no run of our own begin any more, and those of a program that was attached to go on.
    pub fn close(&self) {
        match &self.debuggee {
            Some(debuggee) => debuggee.cancel(),
            // A program that is gone needs nothing.
            None => drop(self.release()),
        }
    }

    /// The stopped run that commands mean: the chosen one, or the one that stopped first.
    fn stop(&self) -> Result<Event> {
        let chosen = self.current.and_then(|event| self.inbox.stop(event));
        match chosen.or_else(|| self.inbox.stops().into_iter().next()) {
            Some(stop) => Ok(stop),
            None if self.debuggee.is_some() => {
                bail!("no run is stopped; `break` says where runs stop, and `run` starts one")
            }
            None => bail!("no run is stopped; `break` and `wait` stop one, and so does `pause`"),
        }
    }

    /// The same, where the run can be looked at and go on.
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

    /// The model that commands mean.
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
