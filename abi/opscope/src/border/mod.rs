//! The border between C and Rust: statuses, error texts, handles, and texts that C reads. `opscope_border` reads what C
//! passes.

mod call;
mod error;
mod handle;
mod text;

pub(crate) use call::{anywhere, use_engine};
pub(crate) use error::{Failure, check_copy, constant, slice};
pub use error::{opscope_error_text, opscope_status_t, opscope_status_text};
pub(crate) use handle::{Handle, get, handle, insert, insert_numbered, own_number, remove, take};
pub(crate) use text::{KeptText, KeptTexts, can_keep, keep};
