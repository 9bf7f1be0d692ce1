//! What happens while the user types or a command waits: read on a thread of its own, and kept until it is reported.

mod console_event;
mod inbox;
mod reader;

pub use console_event::{ConsoleEvent, DroppedCounts, RunEnd, RunOutput};
pub use inbox::Inbox;
pub use reader::EventReader;
