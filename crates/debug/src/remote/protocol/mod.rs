//! What every message of the debug protocol has: frames, the trait of requests, and the greeting.

mod frame;
mod greeting;
mod request;

use serde::Serialize;

pub use crate::error::{ErrorCode, Refusal};
pub(crate) use frame::frame_head;
pub use frame::{Frame, FrameError, FrameLimits, FrameReader};
pub use greeting::{Bye, Hello, HelloRequest, ProgramMessage};
pub use request::Request;

/// The protocol's name, as `hello` has it.
pub const PROTOCOL: &str = "opscope-debug";

/// The protocol's version. Other versions are refused; additions within a version can be ignored.
pub const VERSION: u32 = 1;

/// Returns the JSON of a message.
pub(crate) fn text(message: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(message).expect("a message has no maps with keys that are no text")
}
