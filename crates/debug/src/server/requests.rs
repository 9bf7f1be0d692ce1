use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use rustix::process::geteuid;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::connection::{Connection, plain, text};
use super::{backtrace, graphs, tensors};
use crate::expression::TensorPart;
use crate::protocol::{
    Failure, Frame, FrameLimits, Hello, HelloRequest, MOST_EVENTS, PROTOCOL, Request, TensorForm, VERSION,
};
use crate::{AttachOptions, Attachment, DebugError, Debugger, Queue, Sequence};

/// What a request is answered with.
pub(super) struct Reply {
    /// The JSON of what `ok` is.
    ok: Vec<u8>,
    attachment: Vec<u8>,
}

/// What every request has.
#[derive(Deserialize)]
struct Head {
    id: u64,
    #[serde(default)]
    request: Option<String>,
}

#[derive(Serialize)]
struct Failed<'a> {
    id: Option<u64>,
    error: &'a Failure,
}

/// The most text of a program's command line that is told.
const MOST_ARGUMENTS: usize = 4096;

/// A batch of events is not continued when it has so much text.
const BATCH: usize = 1 << 20;

/// Events that are taken out of a queue at once.
const STRIDE: usize = 64;

/// The shortest interval of timeout events: a debugger must not keep the program busy with them.
const SHORTEST_TIMEOUT: Duration = Duration::from_millis(10);

/// The longest lease: what a debugger has forgotten that is still connected does not stay stopped for ever.
const LONGEST_LEASE: Duration = Duration::from_secs(600);

/// The longest text of a pattern. Matching takes time for each of its characters.
const MOST_PATTERN: usize = 4096;

/// Does what a frame asks for, and puts the answer on its way.
pub(super) fn answer(debugger: &Debugger, connection: &mut Connection, frame: Frame) {
    let head = match read_head(&frame.json) {
        Ok(head) => head,
        Err(reason) => {
            let message = format!("this is no request: {reason}; right is {{\"id\": 1, \"request\": \"status\"}}");
            return fail(connection, None, "malformed", &message);
        }
    };
    let id = Some(head.id);
    let request: Request = match serde_json::from_slice(&frame.json) {
        Ok(request) => request,
        Err(error) => {
            let kind = head.request.map(|kind| format!("'{kind}': ")).unwrap_or_default();
            return fail(connection, id, "bad_request", &format!("{kind}{error}"));
        }
    };
    // What a debugger sends must not end the thread that serves the next one.
    let reply = catch_unwind(AssertUnwindSafe(|| perform(debugger, connection, request, frame.attachment)));
    let reply =
        reply.unwrap_or_else(|_| Err(refused("internal", "the program failed in answering; this is its fault")));
    match reply {
        Ok(reply) if reply.ok.len() + 64 > FrameLimits::ANSWER.json => {
            fail(connection, id, "too_long", "the answer is longer than a frame may be; ask for less at once");
        }
        Ok(reply) => {
            let mut json = format!("{{\"id\":{},\"ok\":", head.id).into_bytes();
            json.extend_from_slice(&reply.ok);
            json.push(b'}');
            connection.answer(&json, &reply.attachment);
        }
        Err(error) => {
            let failure = Failure::from(&error);
            connection.answer(&text(&Failed { id, error: &failure }), &[]);
        }
    }
}

fn read_head(json: &[u8]) -> Result<Head, String> {
    // A list of the fields' values would be read as an object, too.
    if !json.trim_ascii_start().starts_with(b"{") {
        return Err("it is no JSON object".to_owned());
    }
    serde_json::from_slice(json).map_err(|error| error.to_string())
}

/// Puts a refusal on its way.
pub(super) fn fail(connection: &mut Connection, id: Option<u64>, code: &str, message: &str) {
    let failure = Failure { code: code.to_owned(), message: message.to_owned() };
    connection.answer(&text(&Failed { id, error: &failure }), &[]);
}

/// A refusal that has no other home.
pub(super) fn refused(code: &str, message: impl Into<String>) -> DebugError {
    DebugError::Refused { code: code.to_owned(), message: message.into() }
}

fn perform(
    debugger: &Debugger,
    connection: &mut Connection,
    request: Request,
    attached: Vec<u8>,
) -> Result<Reply, DebugError> {
    if let Request::Hello(hello) = &request {
        return greet(debugger, connection, hello);
    }
    if !connection.greeted {
        let message =
            format!("say hello first: {}", json!({"request": "hello", "protocol": PROTOCOL, "version": VERSION}));
        return Err(refused("hello_first", message));
    }
    if let Request::Attach(options) = request {
        let attachment = debugger.attach(within_limits(options))?;
        connection.hold(attachment);
        return Reply::done();
    }
    let is_news = matches!(request, Request::NextEvents { .. });
    let attachment = connection.attachment.as_ref().ok_or(DebugError::NotAttached(None))?;
    let reply = ask(attachment, request, attached);
    if is_news {
        connection.told = false;
    }
    reply
}

/// What a debugger of another process may ask for.
fn within_limits(options: AttachOptions) -> AttachOptions {
    AttachOptions {
        name: plain(&options.name),
        lease: options.lease.min(LONGEST_LEASE),
        timeout: options.timeout.map(|timeout| timeout.max(SHORTEST_TIMEOUT)),
        ..options
    }
}

fn ask(attachment: &Attachment, request: Request, attached: Vec<u8>) -> Result<Reply, DebugError> {
    match request {
        Request::Hello(_) | Request::Attach(_) => unreachable!("they are answered before"),
        Request::Detach => Reply::after(attachment.detach()),
        Request::NextEvents { queue, most } => next_events(attachment, queue, most),
        Request::Acknowledge { event, resume } => {
            Reply::after(attachment.acknowledge(event, resume.into_resume(&attached)?))
        }
        Request::AcknowledgeSyncEvents => Reply::of(&json!({"count": attachment.acknowledge_sync_events()?})),
        Request::Renew { event } => Reply::after(attachment.renew(event)),
        Request::Subscribe { events } => Reply::after(attachment.subscribe(events)),
        Request::AddBreakpoint(spec) => {
            check_pattern(&spec.target.to_string())?;
            Reply::of(&attachment.add_breakpoint(spec)?)
        }
        Request::ChangeBreakpoint { breakpoint, change } => {
            Reply::of(&attachment.change_breakpoint(breakpoint, change)?)
        }
        Request::RemoveBreakpoint { breakpoint } => Reply::after(attachment.remove_breakpoint(breakpoint)),
        Request::Breakpoints => Reply::of(&json!({"breakpoints": attachment.breakpoints()?})),
        Request::Pause { run } => Reply::of(&json!({"count": attachment.pause(run.map(opscope_model::RunId))?})),
        Request::Location { event } => Reply::of(&attachment.location(event)?),
        Request::Backtrace { event, most } => Reply::of(&backtrace::of(attachment, event, saturated(most))?),
        Request::Tensor { at, reference, offset, count } => {
            let part = part(&reference)?;
            let (page, bytes) = tensors::page(attachment, at, part, saturated(offset), saturated(count))?;
            Ok(Reply { ok: text(&page), attachment: bytes })
        }
        Request::Statistics { at, reference } => Reply::of(&tensors::statistics(attachment, at, part(&reference)?)?),
        Request::Histogram { at, reference } => Reply::of(&tensors::histogram(attachment, at, part(&reference)?)?),
        Request::TopK { at, reference, k, magnitude } => {
            let elements = tensors::top_k(attachment, at, part(&reference)?, saturated(k), magnitude)?;
            Reply::of(&json!({"elements": elements}))
        }
        Request::Replace { event, reference, form } => replace(attachment, event, &reference, &form, attached),
        Request::Status => Reply::of(&attachment.status()?),
        Request::Models => Reply::of(&json!({"models": attachment.status()?.models})),
        Request::Model { model } => Reply::of(&graphs::model(attachment, model)?),
        Request::Operators { model, pattern, offset, most } => {
            check_pattern(&pattern)?;
            Reply::of(&graphs::operators(attachment, model, &pattern, saturated(offset), saturated(most))?)
        }
        Request::Operator { model, operator } => Reply::of(&graphs::operator(attachment, model, operator)?),
        Request::Source { model, line, most } => {
            let mut source = graphs::source(attachment, model, saturated(line), saturated(most))?;
            let text_of_lines = std::mem::take(&mut source.text);
            Ok(Reply { ok: text(&source), attachment: text_of_lines.into_bytes() })
        }
    }
}

fn greet(debugger: &Debugger, connection: &mut Connection, hello: &HelloRequest) -> Result<Reply, DebugError> {
    if hello.protocol != PROTOCOL || hello.version != VERSION {
        connection.close_after("speaks another protocol");
        return Err(refused(
            "version",
            format!(
                "this program speaks {PROTOCOL} {VERSION}, and the debugger {} {}; take the debugger of the program's \
                 version of opscope, {}",
                hello.protocol,
                hello.version,
                env!("CARGO_PKG_VERSION")
            ),
        ));
    }
    connection.greeted = true;
    if !hello.client.is_empty() {
        connection.name(&hello.client);
    }
    let control = debugger.0.control();
    let attached = control.attached.as_ref().map(|(_, options)| options.name.clone());
    let models = control.loaded();
    drop(control);
    Reply::of(&Hello {
        protocol: PROTOCOL.to_owned(),
        version: VERSION,
        opscope: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        user: geteuid().as_raw(),
        program: arguments(),
        attached,
        models,
    })
}

fn arguments() -> Vec<String> {
    let mut left = MOST_ARGUMENTS;
    let short = |argument: &String| {
        left = left.saturating_sub(argument.len() + 1);
        left > 0
    };
    std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).take_while(short).collect()
}

/// Events of a queue, written as they are taken: a million of them take no more memory than some.
fn next_events(attachment: &Attachment, queue: Queue, most: u64) -> Result<Reply, DebugError> {
    let most = saturated(most).min(MOST_EVENTS);
    let mut ok = b"{\"events\":[".to_vec();
    let mut count = 0;
    while count < most && ok.len() < BATCH {
        let asked = STRIDE.min(most - count);
        let events = attachment.next_events(queue, asked)?;
        for event in &events {
            if count > 0 {
                ok.push(b',');
            }
            count += 1;
            serde_json::to_writer(&mut ok, event).map_err(|error| refused("internal", error.to_string()))?;
        }
        if events.len() < asked {
            break;
        }
    }
    ok.extend_from_slice(b"]}");
    Ok(Reply { ok, attachment: Vec::new() })
}

fn replace(
    attachment: &Attachment,
    event: Sequence,
    reference: &str,
    form: &TensorForm,
    attached: Vec<u8>,
) -> Result<Reply, DebugError> {
    let part = part(reference)?;
    if part.slice.is_some() {
        let reason = "a part of a tensor cannot be; give the whole tensor".to_owned();
        return Err(DebugError::Replacement { reference: reference.to_owned(), reason });
    }
    Reply::after(attachment.replace(event, part.tensor, form.tensor(attached)?))
}

fn part(reference: &str) -> Result<TensorPart, DebugError> {
    reference.parse().map_err(|error: crate::expression::ConditionError| refused("reference", error.to_string()))
}

fn check_pattern(pattern: &str) -> Result<(), DebugError> {
    match pattern.len() {
        0..=MOST_PATTERN => Ok(()),
        length => {
            Err(refused("target", format!("a pattern of {length} bytes is too long; {MOST_PATTERN} are the most")))
        }
    }
}

fn saturated(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl Reply {
    fn of(ok: &impl Serialize) -> Result<Self, DebugError> {
        Ok(Self { ok: text(ok), attachment: Vec::new() })
    }

    fn done() -> Result<Self, DebugError> {
        Self::of(&json!({}))
    }

    fn after(done: Result<(), DebugError>) -> Result<Self, DebugError> {
        done.and_then(|()| Self::done())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_debugger_asks_for_has_limits() {
        let options = AttachOptions {
            name: "two\nlines".into(),
            lease: Duration::MAX,
            timeout: Some(Duration::ZERO),
            ..AttachOptions::default()
        };
        let limited = within_limits(options);
        assert_eq!((limited.lease, limited.timeout), (LONGEST_LEASE, Some(SHORTEST_TIMEOUT)));
        assert_eq!(limited.name, "two\\u{a}lines");
        let small = AttachOptions { lease: Duration::from_millis(20), ..AttachOptions::default() };
        assert_eq!(within_limits(small).lease, Duration::from_millis(20));
    }
}
