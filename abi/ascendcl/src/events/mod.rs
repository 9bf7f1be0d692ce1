//! Events: marks in streams, which can be waited for and tell the time.

mod calls;
mod event;
mod queries;
mod record;
mod table;
