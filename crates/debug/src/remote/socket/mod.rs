//! Unix sockets: their paths, connecting to them, and sending frames over them.

mod connect;
pub(super) mod path;
mod transfer;

pub(super) use connect::{connect, is_listened_at};
pub(super) use transfer::{Ready, send_frame, send_some};
