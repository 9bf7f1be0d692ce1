//! `opscope dap`: the Debug Adapter Protocol on stdin and stdout, by which editors debug a model.
//!
//! It is another client of the debug protocol, as the prompt is. Threads are runs, the source is a listing with a line
//! for each operator, or the line of the program that the model was exported from.

mod breakpoints;
mod capabilities;
mod frames;
mod memory;
mod messages;
mod program;
mod python;
mod session;
mod variables;

use std::io::{self, BufReader, BufWriter};
use std::sync::mpsc;
use std::thread;

use clap::Args;
use opscope::debug::client::Client;
use serde_json::Value;

use super::events::ConsoleEvent;
use crate::exit::{Exit, Failure};
use messages::Editor;
use session::{Next, Session};

/// The arguments of `opscope dap`.
#[derive(Debug, Args)]
pub struct DapArguments {}

/// What a session waits for.
pub enum Incoming {
    /// The editor sent a message.
    Editor(Value),
    /// The editor is gone, or sent something that is not a message.
    Closed(Option<anyhow::Error>),
    /// The program did something.
    Program(ConsoleEvent),
    /// The Python program that was launched can be debugged.
    Connected(Box<Client>),
    /// It has printed a text, to this category of output.
    Printed(&'static str, String),
    /// It has ended, with this exit code.
    PythonEnded(i32),
}

/// Runs `opscope dap`.
pub fn run(_: &DapArguments) -> Result<Exit, Failure> {
    let (to, incoming) = mpsc::channel();
    let mut session = Session::new(Editor::new(BufWriter::new(io::stdout())), to.clone());
    thread::Builder::new()
        .name("editor".into())
        .spawn(move || {
            let mut from = BufReader::new(io::stdin());
            loop {
                let message = match messages::read(&mut from) {
                    Ok(Some(message)) => Incoming::Editor(message),
                    Ok(None) => Incoming::Closed(None),
                    Err(error) => Incoming::Closed(Some(error)),
                };
                let is_last = matches!(message, Incoming::Closed(_));
                if to.send(message).is_err() || is_last {
                    return;
                }
            }
        })
        .map_err(Failure::failed)?;
    let outcome = loop {
        // The session has a sender of its own, so the channel stays open.
        let outcome = match incoming.recv().expect("a sender exists") {
            Incoming::Editor(message) => session.request(message),
            Incoming::Program(event) => session.program(event).map(|()| Next::Continue),
            Incoming::Connected(client) => session.connected(*client).map(|()| Next::Continue),
            Incoming::Printed(category, text) => session.printed(category, &text).map(|()| Next::Continue),
            Incoming::PythonEnded(code) => session.over(code).map(|()| Next::Continue),
            Incoming::Closed(None) => Ok(Next::End),
            Incoming::Closed(Some(error)) => break Err(Failure::wrong_use(format!("{error:#}"))),
        };
        match outcome {
            Ok(Next::Continue) => {}
            Ok(Next::End) => break Ok(Exit::Done),
            Err(error) => break Err(Failure::failed(format!("the editor cannot be reached: {error:#}"))),
        }
    };
    if let Err(failure) = &outcome {
        // This is printed first, because the end of a session with its own model ends the process.
        eprintln!("error: {failure}");
    }
    let exit = outcome.as_ref().map_or_else(|failure| failure.exit, |exit| *exit);
    session.end(exit);
    Ok(exit)
}
