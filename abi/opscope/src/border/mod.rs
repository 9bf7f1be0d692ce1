//! The border between C and Rust: statuses, error texts, handles, and what C passes by pointer.

mod call;
mod engine_call;
mod error;
mod handle;
mod pointer;
mod sized;
mod status;
mod text;

pub(crate) use call::{call, required};
pub(crate) use engine_call::use_engine;
pub(crate) use error::Failure;
pub use error::opscope_error_text;
pub(crate) use handle::{Handle, get, handle, insert, insert_numbered, own_number, remove, take};
pub(crate) use pointer::{UserData, constant, out, slice, write_out};
pub(crate) use sized::{SizedStruct, check_place, read, read_array, read_or_default, sized, write};
pub use status::{opscope_status_t, opscope_status_text};
pub(crate) use text::{Text, can_keep, keep, read_optional_path, read_optional_text, read_path, read_text};
