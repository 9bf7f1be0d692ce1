use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use opscope_model::RunId;
use serde::Deserialize;
use serde_json::json;

use super::connection::{Connection, plain, text};
use super::hello::greet;
use super::reply::{Reply, answer, fail};
use super::{backtrace, graphs, tensors};
use crate::error::{DebugError, ErrorCode, Refusal};
use crate::event::{Queue, Sequence};
use crate::expression::{ConditionError, TensorPart};
use crate::queues::Resume;
use crate::remote::protocol::{Frame, MOST_EVENTS, PROTOCOL, Request, TensorForm, VERSION};
use crate::session::{AttachOptions, Attachment, Debugger};

/// The fields that every request has.
#[derive(Deserialize)]
struct Head {
    id: u64,
    #[serde(default)]
    request: Option<String>,
}

/// The number of bytes of JSON at which a batch of events is complete. The last stride may exceed it.
const BATCH: usize = 1 << 20;

/// The number of events that are taken out of a queue at once.
const STRIDE: usize = 64;

/// The shortest interval of timeout events, so that a debugger cannot keep the program busy with them.
const SHORTEST_TIMEOUT: Duration = Duration::from_millis(10);

/// The longest lease, so that a run that a connected debugger has forgotten is not stopped for ever.
const LONGEST_LEASE: Duration = Duration::from_secs(600);

/// The longest text of a pattern. It is limited, because matching takes time for each of its characters.
const MOST_PATTERN: usize = 4096;

/// Carries out the request in a frame and queues its answer.
pub(super) fn serve(debugger: &Debugger, connection: &mut Connection, frame: Frame) {
    let head = match read_head(&frame.json) {
        Ok(head) => head,
        Err(reason) => {
            let message = format!("this is no request: {reason}; right is {{\"id\": 1, \"request\": \"status\"}}");
            return fail(connection, None, &Refusal::new(ErrorCode::Malformed, message));
        }
    };
    let request: Request = match serde_json::from_slice(&frame.json) {
        Ok(request) => request,
        Err(error) => {
            let kind = head.request.map(|kind| format!("'{kind}': ")).unwrap_or_default();
            let refusal = Refusal::new(ErrorCode::BadRequest, format!("{kind}{error}"));
            return fail(connection, Some(head.id), &refusal);
        }
    };
    // A panic must not end the thread that serves the other debuggers.
    let outcome = catch_unwind(AssertUnwindSafe(|| perform(debugger, connection, request, frame.attachment)));
    let outcome = outcome.unwrap_or_else(|_| {
        Err(Refusal::new(ErrorCode::Internal, "the program failed to answer; this is a fault of the program"))
    });
    answer(connection, head.id, outcome);
}

fn read_head(json: &[u8]) -> Result<Head, String> {
    // Without this check, serde would also accept an array of the fields' values.
    if !json.trim_ascii_start().starts_with(b"{") {
        return Err("it is no JSON object".to_owned());
    }
    serde_json::from_slice(json).map_err(|error| error.to_string())
}

fn perform(
    debugger: &Debugger,
    connection: &mut Connection,
    request: Request,
    attached: Vec<u8>,
) -> Result<Reply, Refusal> {
    if let Request::Hello(hello) = &request {
        return greet(debugger, connection, hello);
    }
    if !connection.greeted {
        let message =
            format!("say hello first: {}", json!({"request": "hello", "protocol": PROTOCOL, "version": VERSION}));
        return Err(Refusal::new(ErrorCode::HelloFirst, message));
    }
    if let Request::Attach(options) = request {
        let attachment = debugger.attach(within_limits(options))?;
        connection.set_attachment(attachment);
        return Ok(Reply::done());
    }
    let takes_events = matches!(request, Request::NextEvents { .. });
    let attachment = connection.attachment.as_ref().ok_or(DebugError::NotAttached)?;
    let reply = ask(attachment, request, attached);
    if takes_events {
        connection.notified = false;
    }
    reply
}

/// Returns the options of a debugger in another process, limited to what it may request.
fn within_limits(options: AttachOptions) -> AttachOptions {
    AttachOptions {
        name: plain(&options.name),
        lease: options.lease.min(LONGEST_LEASE),
        timeout: options.timeout.map(|timeout| timeout.max(SHORTEST_TIMEOUT)),
        ..options
    }
}

fn ask(attachment: &Attachment, request: Request, attached: Vec<u8>) -> Result<Reply, Refusal> {
    Ok(match request {
        Request::Hello(_) | Request::Attach(_) => unreachable!("they are answered before"),
        Request::Detach => {
            attachment.detach()?;
            Reply::done()
        }
        Request::NextEvents { queue, most } => next_events(attachment, queue, most)?,
        Request::Acknowledge { event, resume } => {
            let resume = resume.into_resume(&attached)?;
            let is_skip = matches!(resume, Resume::Skip(_));
            let executed = is_skip && attachment.look(event, |stopped| stopped.executes_skipped()).unwrap_or(false);
            attachment.acknowledge(event, resume)?;
            if executed { Reply::of(&json!({"executed": true})) } else { Reply::done() }
        }
        Request::AcknowledgeSyncEvents => Reply::of(&json!({"count": attachment.acknowledge_sync_events()?})),
        Request::Renew { event } => {
            attachment.renew(event)?;
            Reply::done()
        }
        Request::Subscribe { events } => {
            attachment.subscribe(events)?;
            Reply::done()
        }
        Request::AddBreakpoint(spec) => {
            check_pattern(&spec.target.to_string())?;
            Reply::of(&attachment.add_breakpoint(spec)?)
        }
        Request::ChangeBreakpoint { breakpoint, change } => {
            Reply::of(&attachment.change_breakpoint(breakpoint, change)?)
        }
        Request::RemoveBreakpoint { breakpoint } => {
            attachment.remove_breakpoint(breakpoint)?;
            Reply::done()
        }
        Request::Breakpoints => Reply::of(&json!({"breakpoints": attachment.breakpoints()?})),
        Request::Pause { run } => Reply::of(&json!({"count": attachment.pause(run.map(RunId))?})),
        Request::Location { event } => Reply::of(&attachment.location(event)?),
        Request::Backtrace { event, most } => Reply::of(&backtrace::of(attachment, event, saturated(most))?),
        Request::Tensor { at, reference, offset, count } => {
            let part = part(&reference)?;
            let (page, bytes) = tensors::page(attachment, at, part, saturated(offset), saturated(count))?;
            Reply { ok: text(&page), attachment: bytes }
        }
        Request::Statistics { at, reference } => Reply::of(&tensors::statistics(attachment, at, part(&reference)?)?),
        Request::Histogram { at, reference } => Reply::of(&tensors::histogram(attachment, at, part(&reference)?)?),
        Request::TopK { at, reference, k, magnitude } => {
            let elements = tensors::top_k(attachment, at, part(&reference)?, saturated(k), magnitude)?;
            Reply::of(&json!({"elements": elements}))
        }
        Request::Replace { event, reference, form } => {
            replace(attachment, event, &reference, &form, attached)?;
            Reply::done()
        }
        Request::Status => Reply::of(&attachment.status()?),
        Request::Models => Reply::of(&json!({"models": attachment.status()?.models})),
        Request::Model { model } => Reply::of(&graphs::model(attachment, model)?),
        Request::Operators { model, pattern, offset, most } => {
            check_pattern(&pattern)?;
            Reply::of(&graphs::operators(attachment, model, &pattern, saturated(offset), saturated(most))?)
        }
        Request::Operator { model, operator } => Reply::of(&graphs::operator(attachment, model, operator)?),
        Request::Values { model, offset, most } => {
            Reply::of(&graphs::values(attachment, model, saturated(offset), saturated(most))?)
        }
        Request::Source { model, line, most } => {
            let mut source = graphs::source(attachment, model, saturated(line), saturated(most))?;
            let lines = std::mem::take(&mut source.text);
            Reply { ok: text(&source), attachment: lines.into_bytes() }
        }
    })
}

/// Takes events out of a queue. They are serialized as they are taken, so that many of them need little memory.
fn next_events(attachment: &Attachment, queue: Queue, most: u64) -> Result<Reply, Refusal> {
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
            serde_json::to_writer(&mut ok, event)
                .map_err(|error| Refusal::new(ErrorCode::Internal, error.to_string()))?;
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
) -> Result<(), Refusal> {
    let part = part(reference)?;
    if part.slice.is_some() {
        let reason = "a part of a tensor cannot be; give the whole tensor".to_owned();
        return Err(DebugError::Replacement { reference: reference.to_owned(), reason }.into());
    }
    Ok(attachment.replace(event, part.tensor, form.tensor(attached)?)?)
}

fn part(reference: &str) -> Result<TensorPart, Refusal> {
    reference.parse().map_err(|error: ConditionError| Refusal::new(ErrorCode::Reference, error.to_string()))
}

fn check_pattern(pattern: &str) -> Result<(), Refusal> {
    match pattern.len() {
        0..=MOST_PATTERN => Ok(()),
        length => {
            let message = format!("a pattern of {length} bytes is too long; {MOST_PATTERN} are the most");
            Err(Refusal::new(ErrorCode::Target, message))
        }
    }
}

fn saturated(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
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
        assert_eq!((limited.lease, limited.timeout), (Duration::from_secs(600), Some(Duration::from_millis(10))));
        assert_eq!(limited.name, "two\\u{a}lines");
        let (lease, timeout) = (Duration::from_millis(20), Some(Duration::from_millis(11)));
        let small = within_limits(AttachOptions { lease, timeout, ..AttachOptions::default() });
        assert_eq!((small.lease, small.timeout), (lease, timeout));
    }
}
