//! A session: the requests of the editor, and the events of the program.

use std::io::Write;
use std::sync::mpsc::Sender;

use anyhow::{Context, Result, bail};
use opscope::debug::client::Client;
use opscope::debug::{BreakpointId, Event, EventKind, EventName, Exception, Resume, Sequence};
use opscope::model::RunId;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::Incoming;
use super::breakpoints::Breakpoints;
use super::capabilities::capabilities;
use super::frames::{self, Frames, threads};
use super::messages::{
    Attach, Client as EditorFacts, Editor, Evaluate, Launch, OfFrame, OfSource, OfThread, OfVariable, ReadMemory,
    Request, SetBreakpoints, SetDataBreakpoints, SetExceptionBreakpoints, SetFunctionBreakpoints,
    Variables as ListVariables,
};
use super::program::Program;
use super::python::{PythonProgram, is_python};
use super::variables::Variables;
use crate::debug::events::{ConsoleEvent, RunEnd};
use crate::debug::output::end;
use crate::debug::show;
use crate::exit::Exit;

/// A session with an editor.
pub struct Session<W> {
    editor: Editor<W>,
    /// Where the program's events go.
    events: Sender<Incoming>,
    program: Option<Program>,
    breakpoints: Breakpoints,
    variables: Variables,
    launch: Option<Launch>,
    /// The Python program that was launched.
    python: Option<PythonProgram>,
    /// The beginning of that program.
    entry: Entry,
    /// The breakpoint that stops at the next operator, and the reason that the editor gets for it.
    once: Option<(BreakpointId, &'static str)>,
    /// Whether a run of the launched model has failed.
    failed: bool,
    /// Whether the editor was notified that the program has ended.
    is_over: bool,
}

/// A Python program stops when its first run begins, and goes on when the editor has set its breakpoints.
#[derive(Debug, Default)]
struct Entry {
    /// The event at which it is stopped.
    stop: Option<Event>,
    is_configured: bool,
}

/// Whether the session continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    Continue,
    End,
}

impl<W: Write> Session<W> {
    pub fn new(editor: Editor<W>, events: Sender<Incoming>) -> Self {
        Self {
            editor,
            events,
            program: None,
            breakpoints: Breakpoints::default(),
            variables: Variables::default(),
            launch: None,
            python: None,
            entry: Entry::default(),
            once: None,
            failed: false,
            is_over: false,
        }
    }

    /// Carries out a request and answers it. Some requests have consequences after the answer: `configurationDone`
    /// starts the runs of a launched model, and `disconnect` ends the session.
    ///
    /// # Errors
    /// Returns an error if the editor cannot be written to.
    pub fn request(&mut self, message: Value) -> Result<Next> {
        let Ok(request) = serde_json::from_value::<Request>(message) else {
            // This is an answer to a request, but the adapter sends no requests.
            return Ok(Next::Continue);
        };
        let outcome = self.perform(&request);
        let is_done = outcome.is_ok();
        self.editor.answer(&request, outcome)?;
        match request.command.as_str() {
            // A Python program is not connected to yet.
            "launch" | "attach" if is_done && self.program.is_some() => self.editor.tell("initialized", Value::Null)?,
            "configurationDone" if is_done => self.begin()?,
            "disconnect" | "terminate" => return Ok(Next::End),
            _ => {}
        }
        Ok(Next::Continue)
    }

    /// Reports what the program did.
    ///
    /// # Errors
    /// Returns an error if the editor cannot be written to.
    pub fn program(&mut self, event: ConsoleEvent) -> Result<()> {
        match event {
            ConsoleEvent::Stopped(event) => self.stopped(&event)?,
            ConsoleEvent::RunEnded(end) => self.ended(&end)?,
            ConsoleEvent::Reported(event) => self.reported(&event)?,
            ConsoleEvent::ThreadDone => {
                if self.program.as_ref().is_some_and(Program::is_done) {
                    self.over(i32::from(self.failed))?;
                }
            }
            // Its end is reported when its process has ended.
            ConsoleEvent::Gone(_) if self.python.is_some() => {}
            ConsoleEvent::Gone(reason) => {
                self.editor.print("important", &format!("The program is gone: {}", show::first_line(&reason)))?;
                self.over(1)?;
            }
            ConsoleEvent::Dropped(dropped) => self.editor.print("console", &show::dropped(&dropped))?,
            // Ctrl-C ends this process, because it has no prompt.
            ConsoleEvent::Interrupted => {}
        }
        Ok(())
    }

    /// Debugs the Python program that was launched.
    ///
    /// # Errors
    /// Returns an error if the editor cannot be written to.
    pub fn connected(&mut self, client: Client) -> Result<()> {
        match Program::over(client, None, true, self.events.clone()) {
            Ok(program) => self.program = Some(program),
            Err(error) => return Ok(self.editor.print("important", &format!("{error:#}"))?),
        }
        Ok(self.editor.tell("initialized", Value::Null)?)
    }

    /// Passes on what the program has printed.
    ///
    /// # Errors
    /// Returns an error if the editor cannot be written to.
    pub fn printed(&mut self, category: &str, text: &str) -> Result<()> {
        Ok(self.editor.tell("output", json!({ "category": category, "output": text }))?)
    }

    /// Ends the session. If it was attached to another program, that program continues without breakpoints.
    pub fn end(self, exit: Exit) {
        if let Some(python) = self.python {
            python.terminate();
        }
        match self.program {
            Some(program) if !program.is_own() => program.leave(),
            // Threads whose runs are stopped or not over end with the process.
            Some(_) => end(exit as i32),
            None => {}
        }
    }

    fn perform(&mut self, request: &Request) -> Result<Value> {
        match request.command.as_str() {
            "initialize" => {
                let client: EditorFacts = arguments(request)?;
                self.editor.lines_from(client.first_line());
                return Ok(capabilities());
            }
            "launch" => {
                self.alone()?;
                let launch: Launch = arguments(request)?;
                if is_python(&launch.program) {
                    self.python = Some(PythonProgram::start(&launch, &self.events)?);
                    self.launch = Some(launch);
                    return Ok(Value::Null);
                }
                self.program = Some(Program::launch(&launch, self.events.clone())?);
                self.launch = Some(launch);
                return Ok(Value::Null);
            }
            "attach" => {
                self.alone()?;
                self.program = Some(Program::attach(&arguments::<Attach>(request)?, self.events.clone())?);
                return Ok(Value::Null);
            }
            "disconnect" | "terminate" => {
                // Some editors kill the adapter as soon as they have the answer.
                if let Some(python) = self.python.take() {
                    python.terminate();
                }
                return Ok(Value::Null);
            }
            "configurationDone" => return Ok(Value::Null),
            _ => {}
        }
        let Self { editor, program, breakpoints, variables, once, .. } = self;
        let program = program.as_ref().context("no program is debugged: launch or attach comes first")?;
        Ok(match request.command.as_str() {
            "setBreakpoints" => {
                let wanted: SetBreakpoints = arguments(request)?;
                let (counted, shown) = (|line| editor.counted_from_1(line), |line| editor.line(line));
                breakpoints.set_lines(program, &wanted.source, &wanted.breakpoints, counted, shown)?
            }
            "setFunctionBreakpoints" => {
                breakpoints.set_functions(program, &arguments::<SetFunctionBreakpoints>(request)?.breakpoints)?
            }
            "setDataBreakpoints" => {
                breakpoints.set_data(program, &arguments::<SetDataBreakpoints>(request)?.breakpoints)?
            }
            "setExceptionBreakpoints" => {
                breakpoints.set_exceptions(program, &arguments::<SetExceptionBreakpoints>(request)?.filters)?
            }
            "dataBreakpointInfo" => variables.data_breakpoint(program, &arguments::<OfVariable>(request)?)?,
            "threads" => threads(program)?,
            "stackTrace" => {
                let asked: OfThread = arguments(request)?;
                let frames = Frames::of(program, &program.stop_of(run(asked.thread_id)?)?, |line| editor.line(line))?;
                let levels = if asked.levels > 0 { asked.levels } else { usize::MAX };
                let shown: Vec<&Value> = frames.iter().skip(asked.start_frame).take(levels).collect();
                json!({ "stackFrames": shown, "totalFrames": frames.len() })
            }
            "scopes" => match Frames::stop(arguments::<OfFrame>(request)?.frame_id) {
                Some(stop) => variables.scopes(program, stop)?,
                None => json!({ "scopes": [] }),
            },
            "variables" => variables.list(program, &arguments::<ListVariables>(request)?)?,
            "setVariable" => variables.set(program, &arguments::<OfVariable>(request)?)?,
            "evaluate" => {
                let asked: Evaluate = arguments(request)?;
                let stop = Frames::stop_or_first(program, asked.frame_id)?;
                match variables.evaluate(program, stop, &asked.expression) {
                    // What is no tensor may be an expression of the program's language.
                    Err(error) => match program.client.evaluate(stop, &asked.expression) {
                        Ok(text) => json!({ "result": text, "variablesReference": 0 }),
                        Err(_) => return Err(error),
                    },
                    Ok(answer) => answer,
                }
            }
            "readMemory" => variables.read_memory(program, &arguments::<ReadMemory>(request)?)?,
            "opscope/tensor" => {
                let asked: Evaluate = arguments(request)?;
                variables.describe(program, Frames::stop_or_first(program, asked.frame_id)?, &asked.expression)?
            }
            "exceptionInfo" => {
                let asked: OfThread = arguments(request)?;
                exception(&program.stop_of(run(asked.thread_id)?)?)
            }
            "continue" => self.resume(request, |_, _| Resume::Continue)?,
            "next" => self.resume(request, |_, _| Resume::Over)?,
            "stepIn" => self.resume(request, |_, _| Resume::Step)?,
            "stepOut" => self.resume(request, out_of_module)?,
            "pause" => {
                if program.client.pause(None)? == 0 && program.inbox.stops().is_empty() {
                    if program.is_own() {
                        bail!("no run is active");
                    }
                    // A server may be between two runs.
                    *once = Some((program.stop_soon()?, "pause"));
                }
                Value::Null
            }
            "source" => {
                let asked: OfSource = arguments(request)?;
                let reference = asked.source_reference.max(asked.source.source_reference);
                let model = frames::model_of(program, reference)?;
                json!({ "content": frames::text(program, model.model)? })
            }
            "loadedSources" => {
                let sources: Vec<Value> = program.models()?.iter().map(frames::listing).collect();
                json!({ "sources": sources })
            }
            other => bail!("the adapter has no request '{other}'"),
        })
    }

    fn alone(&self) -> Result<()> {
        match self.program.is_none() && self.python.is_none() {
            true => Ok(()),
            false => bail!("a session debugs one program"),
        }
    }

    /// Starts the runs of a launched model, once the editor has set its breakpoints.
    fn begin(&mut self) -> Result<()> {
        let (Some(program), Some(launch)) = (&self.program, &self.launch) else { return Ok(()) };
        if self.python.is_some() {
            self.entry.is_configured = true;
            return self.enter();
        }
        let begun = match launch.stop_on_entry && !launch.no_debug {
            true => program.stop_soon().map(|id| self.once = Some((id, "entry"))),
            false => Ok(()),
        };
        if let Err(error) = begun.and_then(|()| program.start(launch.runs.unwrap_or(1))) {
            self.editor.print("important", &format!("{error:#}"))?;
            self.over(1)?;
        }
        Ok(())
    }

    fn resume(&mut self, request: &Request, how: impl FnOnce(&Program, Sequence) -> Resume) -> Result<Value> {
        let asked: OfThread = arguments(request)?;
        let program = self.program.as_ref().context("no program is debugged")?;
        let stop = program.stop_of(run(asked.thread_id)?)?.sequence;
        self.variables.forget(stop);
        program.resume(stop, how(program, stop))?;
        Ok(json!({ "allThreadsContinued": false }))
    }

    /// Lets a Python program begin its first run, once the breakpoints are set.
    fn enter(&mut self) -> Result<()> {
        let stops = self.launch.as_ref().is_some_and(|launch| launch.stop_on_entry && !launch.no_debug);
        let Some(event) = self.entry.stop.take_if(|_| self.entry.is_configured) else { return Ok(()) };
        let Some(program) = &self.program else { return Ok(()) };
        if stops {
            self.once = Some((program.stop_soon()?, "entry"));
        }
        program.let_begin()?;
        program.resume(event.sequence, Resume::Continue)
    }

    fn stopped(&mut self, event: &Event) -> Result<()> {
        if event.kind.name() == EventName::RunPushed {
            self.entry.stop = Some(event.clone());
            return self.enter();
        }
        let Some(program) = &self.program else { return Ok(()) };
        if self.launch.as_ref().is_some_and(|launch| launch.no_debug) {
            return program.resume(event.sequence, Resume::Continue);
        }
        let reason = match event.kind.name() {
            EventName::StepComplete => "step",
            EventName::Paused => "pause",
            EventName::Exception => "exception",
            _ => "breakpoint",
        };
        let hit = event.kind.breakpoints();
        let reason = self.once.take_if(|(id, _)| hit.contains(id)).map_or(reason, |(_, reason)| reason);
        self.stopped_for(event, reason)
    }

    fn stopped_for(&mut self, event: &Event, reason: &str) -> Result<()> {
        let ids: Vec<u32> = event.kind.breakpoints().iter().map(|id| id.0).collect();
        let run = event.kind.run().map_or(0, |run| run.0);
        Ok(self.editor.tell(
            "stopped",
            json!({
                "reason": reason, "threadId": run + 1, "text": event.to_string(), "hitBreakpointIds": ids,
                "allThreadsStopped": false,
            }),
        )?)
    }

    fn ended(&mut self, end: &RunEnd) -> Result<()> {
        self.failed |= end.outcome.is_err();
        let category = if end.outcome.is_ok() { "stdout" } else { "stderr" };
        self.editor.print(category, &show::ended(end, false))?;
        self.exited(end.run)
    }

    fn reported(&mut self, event: &Event) -> Result<()> {
        match &event.kind {
            // The end of a run of this process's own is reported with its outputs.
            EventKind::RunPopped { .. } if self.program.as_ref().is_some_and(Program::is_own) => Ok(()),
            EventKind::RunPopped { run, .. } => self.exited(*run),
            EventKind::Exception { .. } | EventKind::InternalError { .. } => {
                Ok(self.editor.print("stderr", &show::happened(event))?)
            }
            EventKind::ModelLoaded { model, .. } => {
                let models = self.program.as_ref().map(Program::models).transpose()?.unwrap_or_default();
                match models.iter().find(|loaded| loaded.model == *model) {
                    Some(model) => {
                        let body = json!({ "reason": "new", "source": frames::listing(model) });
                        Ok(self.editor.tell("loadedSource", body)?)
                    }
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    fn exited(&mut self, run: RunId) -> Result<()> {
        Ok(self.editor.tell("thread", json!({ "reason": "exited", "threadId": run.0 + 1 }))?)
    }

    /// Reports that the program has ended.
    ///
    /// # Errors
    /// Returns an error if the editor cannot be written to.
    pub fn over(&mut self, exit_code: i32) -> Result<()> {
        if !std::mem::replace(&mut self.is_over, true) {
            self.editor.tell("exited", json!({ "exitCode": exit_code }))?;
            self.editor.tell("terminated", Value::Null)?;
        }
        Ok(())
    }
}

fn exception(stop: &Event) -> Value {
    let id = match &stop.kind {
        EventKind::Exception { exception: Exception::Engine { .. }, .. } => "error",
        EventKind::Exception { exception: Exception::NonFinite { outputs, inputs, .. }, .. } => {
            let is_nan = outputs.iter().any(|output| output.nan > 0) || inputs.iter().any(|input| input.nan > 0);
            if is_nan { "NaN" } else { "infinity" }
        }
        _ => "stop",
    };
    json!({ "exceptionId": id, "description": stop.to_string(), "breakMode": "always" })
}

fn arguments<T: DeserializeOwned>(request: &Request) -> Result<T> {
    // Some requests have no arguments at all.
    let given = if request.arguments.is_null() { json!({}) } else { request.arguments.clone() };
    serde_json::from_value(given).with_context(|| format!("the arguments of '{}'", request.command))
}

/// Returns the run of a thread.
fn run(thread: u64) -> Result<RunId> {
    thread.checked_sub(1).map(RunId).context("threads are numbered from 1")
}

/// Continues to the end of the innermost module, or of the operator if it is in none.
fn out_of_module(program: &Program, stop: Sequence) -> Resume {
    // A run that failed is nowhere any more.
    let origin = program.client.location(stop).ok().and_then(|location| location.origin);
    match origin.map_or(0, |origin| origin.modules.len()) {
        0 => Resume::Finish,
        depth => Resume::Leave(depth as u32),
    }
}
