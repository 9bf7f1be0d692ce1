use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::connection::{Connection, greet, plain};
use crate::error::{DebugError, ErrorCode, Refusal};
use crate::remote::protocol::{Frame, FrameLimits, PROTOCOL, VERSION, text};
use crate::remote::requests::{AnyRequest, Reply};
use crate::session::{AttachOptions, Debugger};

/// The fields that every request has.
#[derive(Deserialize)]
struct Head {
    id: u64,
    #[serde(default)]
    request: Option<String>,
}

#[derive(Serialize)]
struct Failed<'a> {
    id: Option<u64>,
    error: &'a Refusal,
}

/// The shortest interval of timeout events, so that a debugger cannot keep the program busy with them.
const SHORTEST_TIMEOUT: Duration = Duration::from_millis(10);

/// The longest lease, so that a run that a connected debugger has forgotten is not stopped for ever.
const LONGEST_LEASE: Duration = Duration::from_secs(600);

/// Carries out the request in a frame and queues its answer.
pub(super) fn serve(debugger: &Debugger, connection: &mut Connection, frame: Frame) {
    let head = match read_head(&frame.json) {
        Ok(head) => head,
        Err(reason) => {
            let message = format!("this is not a request: {reason}; expected {{\"id\": 1, \"request\": \"status\"}}");
            return fail(connection, None, &Refusal::new(ErrorCode::Malformed, message));
        }
    };
    let request: AnyRequest = match serde_json::from_slice(&frame.json) {
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
        return Err("it is not a JSON object".to_owned());
    }
    serde_json::from_slice(json).map_err(|error| error.to_string())
}

fn perform(
    debugger: &Debugger,
    connection: &mut Connection,
    request: AnyRequest,
    attached: Vec<u8>,
) -> Result<Reply<()>, Refusal> {
    if let AnyRequest::Hello(hello) = &request {
        return greet(debugger, connection, hello);
    }
    if !connection.greeted {
        let message =
            format!("say hello first: {}", json!({"request": "hello", "protocol": PROTOCOL, "version": VERSION}));
        return Err(Refusal::new(ErrorCode::HelloFirst, message));
    }
    if let AnyRequest::Attach(options) = request {
        let attachment = debugger.attach(within_limits(options))?;
        connection.set_attachment(attachment);
        return Ok(Reply::done().untyped());
    }
    if let AnyRequest::Instrument(request) = request {
        let is_attached = debugger.host().is_some_and(|host| host.instrument(&request.wanted));
        if !is_attached {
            return Err(Refusal::new(ErrorCode::Instrument, "this program does not attach this instrument to itself"));
        }
        return Ok(Reply::done().untyped());
    }
    let takes_events = request.takes_events();
    let attachment = connection.attachment.as_ref().ok_or(DebugError::NotAttached)?;
    let reply = request.perform(attachment, attached);
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

/// Queues the answer to a request.
fn answer(connection: &mut Connection, id: u64, outcome: Result<Reply<()>, Refusal>) {
    match outcome {
        Ok(reply) if reply.ok.len() + 64 > FrameLimits::ANSWER.json => {
            let message = "the answer is longer than a frame may be; ask for less at once";
            fail(connection, Some(id), &Refusal::new(ErrorCode::TooLong, message));
        }
        Ok(reply) => {
            let mut json = format!("{{\"id\":{id},\"ok\":").into_bytes();
            json.extend_from_slice(&reply.ok);
            json.push(b'}');
            connection.answer(&json, &reply.attachment);
        }
        Err(error) => fail(connection, Some(id), &error),
    }
}

/// Queues a refusal.
pub(super) fn fail(connection: &mut Connection, id: Option<u64>, error: &Refusal) {
    connection.answer(&text(&Failed { id, error }), &[]);
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
