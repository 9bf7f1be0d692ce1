//! Events: marks in streams. A program or another stream can wait for them, and they have times.

mod calls;
mod event;
mod queries;
mod record;
mod table;
