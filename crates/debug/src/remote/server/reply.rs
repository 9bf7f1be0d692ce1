use serde::Serialize;

use super::connection::Connection;
use crate::error::{ErrorCode, Refusal};
use crate::remote::protocol::{FrameLimits, text};
use crate::remote::requests::Reply;

#[derive(Serialize)]
struct Failed<'a> {
    id: Option<u64>,
    error: &'a Refusal,
}

/// Queues the answer to a request.
pub(super) fn answer(connection: &mut Connection, id: u64, outcome: Result<Reply<()>, Refusal>) {
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
