//! Events: marks in streams that can be waited for and that tell the time.

mod calls;
mod event;
mod queries;
mod record;
mod table;
