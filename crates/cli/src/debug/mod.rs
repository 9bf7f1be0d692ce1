//! `opscope debug`: stops a running model, shows its tensors, and lets it continue.
//!
//! The command always uses a [`Client`]. Given a model, it is also the program that is debugged, and starts runs on its
//! own threads.

mod arguments;
mod command;
mod console;
pub mod dap;
mod debuggee;
mod events;
mod output;
mod prompt;
mod ranks;
mod show;

use std::io::{self, BufRead, IsTerminal};
use std::path::Path;
use std::process;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use opscope::debug::client::Client;
use opscope::debug::{AttachOptions, DebugError, EventName, EventSet};
use opscope::model::LoadOptions;
use opscope::text::shown_text;
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use serde_json::json;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::attach::{connect, connect_all};
use crate::consumers;
use crate::exit::{Exit, Failure};
use crate::isolate::{Invocation, Isolation};
use crate::options::{EngineArguments, FeedArguments, threads};
use crate::terminal::Messages;
pub use arguments::DebugArguments;
use arguments::ScriptPart;
use console::Console;
use debuggee::Debuggee;
use events::{ConsoleEvent, EventReader, Front, Inbox};
use output::{Output, end};
use prompt::{Prompt, Typed};
use ranks::{Rank, Ranks};
use show::first_line;

/// How long a stopped run waits for a debugger that does not renew its lease.
const LEASE: Duration = Duration::from_secs(30);

/// Runs `opscope debug`.
pub fn run(arguments: &DebugArguments, invocation: &Invocation) -> Result<Exit, Failure> {
    let model = arguments.model.as_deref().unwrap_or(Path::new(""));
    let isolation = invocation.isolate(arguments.isolate.unwrap_or(false), model)?;
    isolation.note("loading the model", false);
    let by_stdin = arguments.batch && arguments.script.0.is_empty();
    if by_stdin && (io::stdin().is_terminal() || io::stdin().lock().fill_buf().is_ok_and(<[u8]>::is_empty)) {
        let reason = "--batch needs commands to run: -ex COMMAND or -x FILE, or lines on the standard input";
        return Err(Failure::wrong_use(reason));
    }
    let output = Output { json: arguments.json.unwrap_or(false), quiet: arguments.quiet.unwrap_or(false), rank: None };
    let (clients, mut debuggee) = match &arguments.attach {
        Some(program) => {
            check_attach(arguments)?;
            (connect_all(program).map_err(|error| Failure::failed(first_line(&format!("{error:#}"))))?, None)
        }
        None => {
            let (client, debuggee) = open(arguments)?;
            (vec![(0, client)], debuggee)
        }
    };
    isolation.note("debugging", false);
    let inboxes: Vec<Arc<Inbox>> = clients.iter().map(|_| Arc::default()).collect();
    let front = Front::new(&inboxes[0]);
    watch_for_interrupts(&front, &isolation, arguments.batch)?;
    let own = debuggee.is_some();
    let is_one = clients.len() == 1;
    let mut ranks = Vec::new();
    for ((number, client), inbox) in clients.into_iter().zip(inboxes) {
        let output = Output { rank: (!is_one).then_some(number), ..output };
        ranks.push(attach(number, client, inbox, debuggee.take(), output)?);
    }
    let mut ranks = Ranks::new(ranks, front, output);
    ranks.greet();
    let failed = session(&mut ranks, arguments);
    let mut run_failed = false;
    for Rank { console, reader, .. } in ranks.into_all() {
        console.close();
        run_failed |= console.run_failed;
        if own {
            // Threads whose runs are stopped or not over end with the process.
            drop(console);
        } else {
            reader.end();
        }
    }
    Ok(if arguments.batch && (failed || run_failed) { Exit::Failed } else { Exit::Done })
}

/// Attaches to a process.
fn attach(
    number: u32,
    client: Client,
    inbox: Arc<Inbox>,
    debuggee: Option<Debuggee>,
    output: Output,
) -> Result<Rank, Failure> {
    let client = Arc::new(client);
    let events = subscribed(EventSet::default(), debuggee.is_some());
    let options = AttachOptions {
        name: "opscope debug".into(),
        events,
        lease: LEASE,
        // For `operator_finished`; they are not computed unless the user asks for that event.
        statistics: true,
        ..AttachOptions::default()
    };
    client.attach(options).map_err(failure)?;
    let reader = EventReader::start(&client, &inbox, LEASE).map_err(Failure::failed)?;
    greet(&client, output);
    let console = Console::new(Arc::clone(&client), Arc::clone(&inbox), debuggee, output);
    Ok(Rank { number, console, client, inbox, reader })
}

/// Returns the events that the client subscribes to so that it can show these. If the process runs a model of its own
/// (`own`), they include the ends of runs.
fn subscribed(shown: EventSet, own: bool) -> EventSet {
    if own { shown.with(EventName::RunPopped) } else { shown }
}

/// Refuses options of a model that this process would run.
fn check_attach(arguments: &DebugArguments) -> Result<(), Failure> {
    if arguments.fed.0 != FeedArguments::default()
        || arguments.engine_threads.is_some()
        || arguments.load_budget.is_some()
        || arguments.engine != EngineArguments::default()
    {
        return Err(Failure::wrong_use(
            "--attach takes no inputs, shapes, engine, threads or load budget: the program has its own",
        ));
    }
    Ok(())
}

fn open(arguments: &DebugArguments) -> Result<(Client, Option<Debuggee>), Failure> {
    if let Some(program) = &arguments.attach {
        check_attach(arguments)?;
        let connected = connect(program).map_err(|error| Failure::failed(first_line(&format!("{error:#}"))));
        return Ok((connected?, None));
    }
    let model = arguments.model.as_deref().expect("clap asks for a model where there is no --attach");
    let inputs = arguments.fed.0.inputs().map_err(Failure::wrong_use)?;
    let shapes = match &arguments.fed.0.shapes().map_err(Failure::wrong_use)?[..] {
        [one] => one.clone(),
        _ => return Err(Failure::wrong_use("--dym-shape-range asks for many shapes; choose one with --dym-shape")),
    };
    let threads = threads("--engine-threads", arguments.engine_threads).map_err(Failure::wrong_use)?;
    let threads = threads.unwrap_or(std::num::NonZeroUsize::MIN);
    let engine = arguments.engine.spec(&std::env::vars_os().collect()).map_err(Failure::wrong_use)?;
    let budget = arguments.load_budget.unwrap_or_default();
    let options = LoadOptions { budget, ..LoadOptions::new(arguments.fidelity, threads) };
    let messages = Messages { quiet: arguments.quiet.unwrap_or(false), debug: false };
    consumers::attach(messages);
    let debuggee = Debuggee::load(model, &inputs, &shapes, &arguments.fed.0.words(), &engine, &options, messages)?;
    let stream = debuggee.connect().map_err(Failure::failed)?;
    Ok((Client::over(stream).map_err(Failure::failed)?, Some(debuggee)))
}

/// Returns the failure for an error of the program or of the connection to it.
fn failure(error: DebugError) -> Failure {
    Failure::failed(first_line(&error.to_string()))
}

/// Says which program the client is connected to.
fn greet(client: &Client, output: Output) {
    let hello = client.hello();
    if output.json {
        output.result("hello", json!({ "schema": "opscope.debug/1", "program": hello }), "");
    } else if hello.pid != process::id() {
        output.note(format!("Attached to process {}: {}", hello.pid, shown_text(&hello.program.join(" "))));
    }
}

/// Runs the commands of the command line, then those that the user enters. Returns whether one of the former failed.
fn session(console: &mut Ranks, arguments: &DebugArguments) -> bool {
    let mut failed = false;
    for (number, part) in arguments.script.0.iter().enumerate() {
        let done = match part {
            ScriptPart::Command(line) => {
                let (line, may_fail) = line.strip_prefix('-').map_or((&**line, false), |line| (line, true));
                console.line(line, None) || may_fail
            }
            ScriptPart::File(path) => match console.source(path) {
                Ok(()) => true,
                Err(error) => {
                    console.refuse(None, &error);
                    false
                }
            },
        };
        failed |= !done;
        if console.is_gone() && number + 1 < arguments.script.0.len() {
            console.refuse(None, &anyhow::anyhow!("the program is gone, and not all commands were run"));
            return true;
        }
        if console.is_over() || (failed && arguments.batch) {
            return failed;
        }
    }
    if arguments.batch {
        if arguments.script.0.is_empty()
            && let Err(error) = console.lines("stdin", io::stdin().lock().lines())
        {
            console.refuse(None, &error);
            failed = true;
        }
        console.report_waiting();
        return failed;
    }
    if let Some(only) = console.only() {
        exit_when_gone(&only.inbox, only.console.output);
    }
    let mut prompt = Prompt::new(&console.current().client);
    while !console.is_over() {
        console.report_waiting();
        if console.is_over() {
            break;
        }
        let inbox = Arc::clone(&console.current().inbox);
        match prompt.read(&inbox) {
            Typed::Line(text) => run_typed(console, &text),
            Typed::Unreadable(reason) => console.refuse(None, &anyhow::anyhow!(reason)),
            Typed::Cleared => {}
            Typed::End => break,
        }
    }
    failed
}

/// Ends the session as soon as the program is gone, even while the prompt waits for a line.
fn exit_when_gone(inbox: &Arc<Inbox>, output: Output) {
    let (inbox, terminal) = (Arc::clone(inbox), tcgetattr(io::stdin()).ok());
    let watch = move || {
        let reason = inbox.gone_while_reading();
        if let Some(terminal) = &terminal {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, terminal);
        }
        // The cursor is behind the prompt.
        output.interrupted();
        output.gone(&reason);
        end(0);
    };
    // Without this thread the session ends after the next line.
    let _ = thread::Builder::new().name("gone".into()).spawn(watch);
}

/// Runs a line, or each line of a pasted text.
fn run_typed(console: &mut Ranks, text: &str) {
    // An empty line repeats the last command.
    let lines = if text.trim().is_empty() { vec![""] } else { text.lines().collect() };
    for line in lines.into_iter().filter(|line| !line.trim_start().starts_with('#')) {
        console.line(line, None);
        if console.is_over() {
            return;
        }
    }
}

/// Starts the thread that handles signals.
///
/// Ctrl-C pauses all runs. A second one soon after exits unless the prompt has come back in between, even if the
/// program does not answer. A batch has no user who could look, so there the first one exits. Other signals end the
/// debugger; a program that it is attached to continues.
fn watch_for_interrupts(front: &Front, isolation: &Isolation, batch: bool) -> Result<(), Failure> {
    const SOON: Duration = Duration::from_secs(1);
    let cannot = |error| Failure::failed(format!("no handler for signals can be set: {error}"));
    let mut signals = isolation.signals(&[SIGINT, SIGTERM, SIGHUP]).map_err(cannot)?;
    let front = front.clone();
    // Line editing changes the terminal's mode, which is restored before the process exits.
    let terminal = tcgetattr(io::stdin()).ok();
    let watch = move || {
        let mut last: Option<(Instant, u64)> = None;
        while let Some(signal) = signals.next() {
            if signal != SIGINT {
                if let Some(terminal) = &terminal {
                    let _ = tcsetattr(io::stdin(), OptionalActions::Now, terminal);
                }
                end(128 + signal);
            }
            let inbox = front.get();
            let typed = inbox.typed.load(Ordering::Relaxed);
            let again = last.is_some_and(|(last, line)| last.elapsed() < SOON && line == typed);
            if batch || again && !inbox.typing.load(Ordering::Relaxed) {
                end(130);
            }
            last = Some((Instant::now(), typed));
            inbox.post(ConsoleEvent::Interrupted);
        }
    };
    thread::Builder::new().name("interrupts".into()).spawn(watch).map_err(cannot)?;
    Ok(())
}
