//! The functions for sessions, filters and buffers.

mod buffers;
mod filters;
mod sessions;
