//! A session: the requests of the editor, and the events of the program.

use std::io::Write;
use std::sync::mpsc::Sender;

use anyhow::{Context, Result, bail};
use opscope::debug::{BreakpointId, Event, EventKind, EventName, Exception, Resume};
use opscope::model::RunId;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::Incoming;
use super::breakpoints::{Breakpoints, exception_filters};
use super::frames::{self, Frames, threads};
use super::messages::{
    Attach, Client, Editor, Evaluate, Launch, OfFrame, OfSource, OfThread, OfVariable, Request, SetBreakpoints,
    SetDataBreakpoints, SetExceptionBreakpoints, SetFunctionBreakpoints, Variables as ListVariables,
};
use super::program::Program;
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
    /// The breakpoint that stops at the next operator, and the reason that the editor gets for it.
    once: Option<(BreakpointId, &'static str)>,
    /// Whether a run of the launched model has failed.
    failed: bool,
    /// Whether the editor was notified that the program has ended.
    is_over: bool,
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
            "launch" | "attach" if is_done => self.editor.tell("initialized", Value::Null)?,
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

    /// Ends the session. If it was attached to another program, that program continues without breakpoints.
    pub fn end(self, exit: Exit) {
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
                let client: Client = arguments(request)?;
                self.editor.lines_from(client.first_line());
                return Ok(capabilities());
            }
            "launch" => {
                self.alone()?;
                let launch: Launch = arguments(request)?;
                self.program = Some(Program::launch(&launch, self.events.clone())?);
                self.launch = Some(launch);
                return Ok(Value::Null);
            }
            "attach" => {
                self.alone()?;
                self.program = Some(Program::attach(&arguments::<Attach>(request)?, self.events.clone())?);
                return Ok(Value::Null);
            }
            "configurationDone" | "disconnect" | "terminate" => return Ok(Value::Null),
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
                let first = || program.inbox.stops().first().map(|stop| stop.sequence);
                let stop = Frames::stop(asked.frame_id).or_else(first);
                variables.evaluate(program, stop.context("no run is stopped")?, &asked.expression)?
            }
            "exceptionInfo" => {
                let asked: OfThread = arguments(request)?;
                exception(&program.stop_of(run(asked.thread_id)?)?)
            }
            "continue" => self.resume(request, Resume::Continue)?,
            "next" | "stepIn" => self.resume(request, Resume::Step)?,
            "stepOut" => self.resume(request, Resume::Finish)?,
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
        match self.program {
            None => Ok(()),
            Some(_) => bail!("a session debugs one program"),
        }
    }

    /// Starts the runs of a launched model, once the editor has set its breakpoints.
    fn begin(&mut self) -> Result<()> {
        let (Some(program), Some(launch)) = (&self.program, &self.launch) else { return Ok(()) };
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

    fn resume(&mut self, request: &Request, resume: Resume) -> Result<Value> {
        let asked: OfThread = arguments(request)?;
        let program = self.program.as_ref().context("no program is debugged")?;
        let stop = program.stop_of(run(asked.thread_id)?)?.sequence;
        self.variables.forget(stop);
        program.resume(stop, resume)?;
        Ok(json!({ "allThreadsContinued": false }))
    }

    fn stopped(&mut self, event: &Event) -> Result<()> {
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
        let ids: Vec<u32> = hit.iter().map(|id| id.0).collect();
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
            EventKind::RunPopped { .. } if self.launch.is_some() => Ok(()),
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

    fn over(&mut self, exit_code: i32) -> Result<()> {
        if !std::mem::replace(&mut self.is_over, true) {
            self.editor.tell("exited", json!({ "exitCode": exit_code }))?;
            self.editor.tell("terminated", Value::Null)?;
        }
        Ok(())
    }
}

/// What the adapter can do.
fn capabilities() -> Value {
    json!({
        "supportsConfigurationDoneRequest": true,
        "supportsFunctionBreakpoints": true,
        "supportsConditionalBreakpoints": true,
        "supportsHitConditionalBreakpoints": true,
        "supportsDataBreakpoints": true,
        "supportsEvaluateForHovers": true,
        "supportsSetVariable": true,
        "supportsExceptionInfoRequest": true,
        "supportsLoadedSourcesRequest": true,
        "supportsTerminateRequest": true,
        "exceptionBreakpointFilters": exception_filters(),
    })
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
