//! Unix sockets: where they lie, how they are connected to, and how frames go over them.

mod connect;
pub(super) mod path;
mod transfer;

pub(super) use connect::{connect, is_listened_at};
pub(super) use transfer::{Ready, send_frame, send_some};
