//! The border between C and Rust: statuses, error texts, handles, and texts that C reads. `opscope_border` reads what C
//! passes.

mod argument;
mod call;
mod engine_call;
mod error;
mod handle;
mod status;
mod text;

pub(crate) use argument::{check_copy, constant, slice};
pub(crate) use call::anywhere;
pub(crate) use engine_call::use_engine;
pub(crate) use error::Failure;
pub use error::opscope_error_text;
pub(crate) use handle::{Handle, get, handle, insert, insert_numbered, own_number, remove, take};
pub use status::{opscope_status_t, opscope_status_text};
pub(crate) use text::{KeptText, KeptTexts, can_keep, keep};
