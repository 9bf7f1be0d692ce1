//! Sessions, filters and buffers, as tools use them.

mod buffers;
mod filters;
mod sessions;
