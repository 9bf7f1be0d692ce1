//! The processes that are debugged at one prompt: one, or the ranks of a distributed program.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use opscope::debug::client::Client;
use serde_json::json;

use super::command::{self, Command};
use super::console::{Console, Polled, run_lines};
use super::events::{EventReader, Front, Inbox};
use super::output::Output;

/// The processes, and the one that commands apply to.
pub struct Ranks {
    ranks: Vec<Rank>,
    current: usize,
    /// The inbox of that one, which gets what the user does.
    front: Front,
    output: Output,
    /// Whether a command ended the session.
    over: bool,
}

/// A process.
pub struct Rank {
    /// Its number among the ranks.
    pub number: u32,
    pub console: Console,
    pub client: Arc<Client>,
    pub inbox: Arc<Inbox>,
    pub reader: EventReader,
}

/// How often the processes are looked at while all of them are waited for.
const PAUSE: Duration = Duration::from_millis(5);

/// How long the others have to stop, once one has: ranks reach the same operator at about the same time.
const GRACE: Duration = Duration::from_secs(2);

impl Ranks {
    pub fn new(ranks: Vec<Rank>, front: Front, output: Output) -> Self {
        Self { ranks, current: 0, front, output, over: false }
    }

    /// Returns the process that commands apply to.
    pub fn current(&self) -> &Rank {
        &self.ranks[self.current]
    }

    /// Returns the only process, if there is one only.
    pub fn only(&self) -> Option<&Rank> {
        (self.ranks.len() == 1).then(|| &self.ranks[0])
    }

    /// Returns all processes.
    pub fn into_all(self) -> Vec<Rank> {
        self.ranks
    }

    /// Returns whether the session is over.
    pub fn is_over(&self) -> bool {
        self.over || self.ranks.iter().all(|rank| rank.console.over)
    }

    /// Returns whether all programs are gone.
    pub fn is_gone(&self) -> bool {
        self.ranks.iter().all(|rank| rank.console.gone)
    }

    /// Reports the console events that wait.
    pub fn report_waiting(&mut self) {
        for rank in self.ranks.iter_mut().filter(|rank| !rank.console.over) {
            rank.console.report_waiting();
        }
    }

    /// Reports the events from before the debugger attached.
    pub fn greet(&mut self) {
        self.ranks.iter_mut().for_each(|rank| rank.console.greet());
    }

    /// Reports an error.
    pub fn refuse(&self, place: Option<&str>, error: &anyhow::Error) {
        self.current().console.refuse(place, error);
    }

    /// Runs a line. Reports an error itself, and returns whether there was none.
    pub fn line(&mut self, line: &str, place: Option<&str>) -> bool {
        if self.ranks.len() == 1 {
            return self.ranks[0].console.line(line, place);
        }
        match command::parse(line) {
            Ok(Command::Rank(number)) => {
                let outcome = self.choose(number);
                if let Err(error) = &outcome {
                    self.refuse(place, error);
                }
                outcome.is_ok()
            }
            Ok(Command::All(command, line)) => self.all(&command, &line, place),
            // An empty line repeats, and an error is the console's to report.
            parsed => {
                let done = self.ranks[self.current].console.line(line, place);
                self.over |= matches!(parsed, Ok(Command::Quit));
                self.leave_what_is_over();
                done
            }
        }
    }

    /// Runs the lines of a file.
    ///
    /// # Errors
    /// As [`Console::source`].
    pub fn source(&mut self, path: &Path) -> Result<()> {
        if self.ranks.len() == 1 {
            return self.ranks[0].console.source(path);
        }
        let text = super::console::commands_of(path)?;
        self.lines(&path.display().to_string(), text.lines().map(|line| Ok(line.to_owned())))
    }

    /// Runs lines as if they were those of a file.
    ///
    /// # Errors
    /// As [`Console::source`].
    pub fn lines(&mut self, name: &str, lines: impl Iterator<Item = io::Result<String>>) -> Result<()> {
        run_lines(name, lines, |line, place| {
            let done = self.line(line, Some(place));
            (done, self.is_gone(), self.is_over())
        })
    }

    /// Chooses a process, or lists them.
    fn choose(&mut self, number: Option<u32>) -> Result<()> {
        if let Some(wanted) = number {
            let found = self.ranks.iter().position(|rank| rank.number == wanted);
            let found = found.with_context(|| format!("there is no rank {wanted}; `rank` lists them"))?;
            if self.ranks[found].console.over {
                bail!("rank {wanted} is not debugged any more");
            }
            self.set_current(found);
        }
        let state = |rank: &Rank| match rank.console.is_stopped() {
            _ if rank.console.over => "gone",
            true => "stopped",
            false => "runs",
        };
        let rows = self.ranks.iter().enumerate().map(|(index, rank)| {
            let mark = if index == self.current { "*" } else { " " };
            format!("{mark} rank {}  process {}  {}", rank.number, rank.client.hello().pid, state(rank))
        });
        let text = rows.collect::<Vec<_>>().join("\n");
        let ranks: Vec<_> = self
            .ranks
            .iter()
            .map(|rank| json!({ "rank": rank.number, "pid": rank.client.hello().pid, "state": state(rank) }))
            .collect();
        self.output.result("ranks", json!({ "ranks": ranks, "current": self.current().number }), text);
        Ok(())
    }

    fn set_current(&mut self, index: usize) {
        self.current = index;
        self.front.set(&self.ranks[index].inbox);
    }

    fn leave_what_is_over(&mut self) {
        if self.current().console.over
            && let Some(other) = self.ranks.iter().position(|rank| !rank.console.over)
        {
            self.set_current(other);
            self.output.note(format!("Commands apply to rank {} now.", self.current().number));
        }
    }

    /// Runs a command for every process. What continues them continues all, before any is waited for.
    fn all(&mut self, command: &Command, line: &str, place: Option<&str>) -> bool {
        let mut done = true;
        let is_alive = |rank: &&mut Rank| !rank.console.over;
        if !Console::continues(command) {
            for rank in self.ranks.iter_mut().filter(is_alive) {
                done &= rank.console.line(line, place);
            }
            self.over |= matches!(command, Command::Quit);
            self.leave_what_is_over();
            return done;
        }
        for rank in self.ranks.iter_mut().filter(is_alive) {
            if let Err(error) = rank.console.continue_without_waiting(command) {
                rank.console.refuse(place, &error);
                done = false;
            }
        }
        if let Err(error) = self.wait_for_all() {
            self.refuse(place, &error);
            done = false;
        }
        self.leave_what_is_over();
        done
    }

    /// Waits until every process is stopped, or one is and the others do not stop soon.
    fn wait_for_all(&mut self) -> Result<()> {
        let mut stopped: Option<Instant> = None;
        loop {
            let mut is_interrupted = false;
            for rank in self.ranks.iter_mut().filter(|rank| !rank.console.over) {
                match rank.console.poll()? {
                    Some(Polled::Stopped) => stopped = Some(Instant::now()),
                    // A rank that tells something is about to stop.
                    Some(Polled::Reported) => stopped = stopped.map(|_| Instant::now()),
                    Some(Polled::Interrupted) => is_interrupted = true,
                    None => {}
                }
            }
            let alive = || self.ranks.iter().filter(|rank| !rank.console.over);
            let running: Vec<u32> = alive().filter(|rank| !rank.console.is_stopped()).map(|rank| rank.number).collect();
            if running.is_empty() {
                return Ok(());
            }
            if is_interrupted {
                alive().try_for_each(|rank| rank.client.pause(None).map(drop))?;
            }
            if is_interrupted || stopped.is_some_and(|stopped| stopped.elapsed() > GRACE) {
                let numbers = running.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
                self.output.note(format!("Not stopped: rank {numbers}. `all wait` waits for them."));
                return Ok(());
            }
            thread::sleep(PAUSE);
        }
    }
}
