//! The program that is debugged: a model that this process runs, or a program that it attaches to.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::thread;

use anyhow::{Result, anyhow, bail};
use clap::Parser;
use opscope::debug::client::Client;
use opscope::debug::protocol::OperatorRow;
use opscope::debug::{
    AttachOptions, BreakpointId, BreakpointSpec, DebugError, ErrorCode, Event, EventName, EventSet, LoadedModel,
    Resume, Sequence,
};
use opscope::model::RunId;

use super::Incoming;
use super::messages::{Attach, Launch};
use super::python::is_python;
use crate::debug::debuggee::Debuggee;
use crate::debug::events::{EventReader, Inbox};
use crate::debug::{DebugArguments, LEASE, open};

/// A connection to the program.
pub struct Program {
    pub client: Arc<Client>,
    pub inbox: Arc<Inbox>,
    debuggee: Option<Debuggee>,
    reader: EventReader,
}

/// The command line that a launch stands for.
#[derive(Debug, Parser)]
#[command(no_binary_name = true)]
struct Words {
    #[command(flatten)]
    arguments: DebugArguments,
}

impl Program {
    /// Loads the model of a launch.
    ///
    /// # Errors
    /// Returns an error if an option or the model cannot be used.
    pub fn launch(launch: &Launch, to: Sender<Incoming>) -> Result<Self> {
        let words = std::iter::once(launch.program.clone()).chain(launch.args.iter().map(PathBuf::from));
        Self::open(words, to)
    }

    /// Connects to the program of an attach request.
    ///
    /// # Errors
    /// Returns an error if it cannot be attached to.
    pub fn attach(attach: &Attach, to: Sender<Incoming>) -> Result<Self> {
        let program = match (attach.process_id, &attach.socket) {
            (Some(pid), None) => PathBuf::from(pid.to_string()),
            (None, Some(socket)) => socket.clone(),
            _ => bail!("an attach request needs either processId, a number, or socket, a path"),
        };
        Self::open([Path::new("--attach").to_owned(), program], to)
    }

    fn open(words: impl IntoIterator<Item = PathBuf>, to: Sender<Incoming>) -> Result<Self> {
        let words = Words::try_parse_from(words).map_err(|error| {
            let text = error.to_string();
            anyhow!("{}", text.lines().next().unwrap_or_default().trim_start_matches("error: "))
        })?;
        let (client, debuggee) = open(&words.arguments).map_err(|failure| anyhow!("{failure}"))?;
        Self::over(client, debuggee, false, to)
    }

    /// Attaches over a connection. With `holds_begin`, the first run that begins stays stopped before its first operator.
    ///
    /// # Errors
    /// Returns an error if the program refuses it.
    pub fn over(client: Client, debuggee: Option<Debuggee>, holds_begin: bool, to: Sender<Incoming>) -> Result<Self> {
        let (client, inbox) = (Arc::new(client), Arc::new(Inbox::default()));
        let events = EventSet::default().with(EventName::RunPopped);
        // Nothing is dropped, because the session takes each event as it comes.
        inbox.drain(true);
        inbox.show(events);
        inbox.hold_begins.store(holds_begin, Ordering::Relaxed);
        let events = if holds_begin { events.with(EventName::RunPushed) } else { events };
        let options = AttachOptions { name: "opscope dap".into(), events, lease: LEASE, ..AttachOptions::default() };
        client.attach(options)?;
        let reader = EventReader::start(&client, &inbox, LEASE)?;
        let events = Arc::clone(&inbox);
        // It ends with the process, or when the session has ended.
        thread::Builder::new()
            .name("events".into())
            .spawn(move || while to.send(Incoming::Program(events.wait())).is_ok() {})?;
        Ok(Self { client, inbox, debuggee, reader })
    }

    /// Returns whether the program is this process's own model.
    pub fn is_own(&self) -> bool {
        self.debuggee.is_some()
    }

    /// Returns whether it is a program whose operators are found while it runs.
    ///
    /// # Errors
    /// Returns an error if the program is gone.
    pub fn finds_operators(&self) -> Result<bool> {
        Ok(self.models()?.iter().any(|model| is_python(Path::new(&model.path))))
    }

    /// Starts runs of the process's own model.
    ///
    /// # Errors
    /// Returns an error if the system has no thread left.
    pub fn start(&self, runs: u64) -> Result<()> {
        match &self.debuggee {
            Some(debuggee) => Ok(debuggee.start(runs, 1, &self.inbox)?),
            None => Ok(()),
        }
    }

    /// Returns whether the process's own model has no more runs to do.
    pub fn is_done(&self) -> bool {
        self.debuggee.as_ref().is_some_and(|debuggee| debuggee.threads() == 0 && debuggee.left() == 0)
    }

    /// Lets runs begin from now on.
    ///
    /// # Errors
    /// Returns an error if the program is gone.
    pub fn let_begin(&self) -> Result<()> {
        self.inbox.hold_begins.store(false, Ordering::Relaxed);
        Ok(self.client.subscribe(EventSet::default().with(EventName::RunPopped))?)
    }

    /// Makes any run stop at its next operator, once. Returns the breakpoint that stops it.
    ///
    /// # Errors
    /// Returns an error if the program refuses the breakpoint.
    pub fn stop_soon(&self) -> Result<BreakpointId> {
        let everywhere = "*".parse().expect("it matches every operator");
        Ok(self.client.add_breakpoint(BreakpointSpec { one_shot: true, ..BreakpointSpec::at(everywhere) })?.id)
    }

    /// Returns the event at which a run is stopped.
    ///
    /// # Errors
    /// Returns an error if it is not stopped.
    pub fn stop_of(&self, run: RunId) -> Result<Event> {
        let stop = self.inbox.stops().into_iter().find(|stop| stop.kind.run() == Some(run));
        stop.ok_or_else(|| anyhow!("run {} is not stopped", run.0))
    }

    /// Lets a stopped run continue.
    ///
    /// # Errors
    /// Returns an error if the program refuses it. If the run has continued meanwhile, that is not an error.
    pub fn resume(&self, stop: Sequence, resume: Resume) -> Result<()> {
        let resumed = self.client.acknowledge(stop, resume);
        self.inbox.forget(stop);
        match resumed {
            Err(error) if error.code() != ErrorCode::AlreadyContinued => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Returns the models that are loaded.
    ///
    /// # Errors
    /// Returns an error if the program is gone.
    pub fn models(&self) -> Result<Vec<LoadedModel>, DebugError> {
        self.client.models()
    }

    /// Returns all operators of a model, in the order of execution.
    ///
    /// # Errors
    /// Returns an error if the program is gone, or the model is not loaded any more.
    pub fn operators(&self, model: &LoadedModel) -> Result<Vec<OperatorRow>, DebugError> {
        let mut all = Vec::new();
        loop {
            let rows = self.client.operators(model.model, "*", all.len(), usize::MAX)?;
            let (before, total) = (all.len(), rows.total);
            all.extend(rows.operators);
            if all.len() == before || all.len() as u64 >= total {
                return Ok(all);
            }
        }
    }

    /// Leaves a program as it was: without breakpoints, and with no run stopped.
    pub fn leave(self) {
        for breakpoint in self.client.breakpoints().unwrap_or_default() {
            // An error means that the program is gone.
            let _ = self.client.remove_breakpoint(breakpoint.id);
        }
        for stop in self.inbox.stops() {
            let _ = self.resume(stop.sequence, Resume::Continue);
        }
        self.reader.end();
    }
}
