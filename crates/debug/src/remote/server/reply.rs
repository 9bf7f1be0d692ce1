use serde::Serialize;
use serde_json::json;

use super::connection::{Connection, text};
use crate::error::{ErrorCode, Refusal};
use crate::remote::protocol::FrameLimits;

/// The result of a request.
pub(super) struct Reply {
    /// The JSON of `ok`.
    pub ok: Vec<u8>,
    pub attachment: Vec<u8>,
}

#[derive(Serialize)]
struct Failed<'a> {
    id: Option<u64>,
    error: &'a Refusal,
}

impl Reply {
    pub fn of(ok: &impl Serialize) -> Self {
        Self { ok: text(ok), attachment: Vec::new() }
    }

    /// The reply of a request that returns nothing.
    pub fn done() -> Self {
        Self::of(&json!({}))
    }
}

/// Queues the answer to a request.
pub(super) fn answer(connection: &mut Connection, id: u64, outcome: Result<Reply, Refusal>) {
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
