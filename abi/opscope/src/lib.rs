//! libopscope: opscope's own C interface, one-to-one with the crate `opscope`.
//!
//! The header `include/opscope.h` is generated from this crate by cbindgen. A test checks that it is current, and
//! writes it if `UPDATE_HEADERS` is set. `docs/c-api.md` is a tour in C.
//!
//! # What callers must guarantee
//! `opscope-border` documents this for each type of a parameter or a field. If a required pointer is NULL, the call
//! returns `OPSCOPE_ERROR_INVALID_ARGUMENT`.
//!
//! # Rooms
//!
//! Each file or folder is a room. It imports only from the rooms below it:
//!
//! | room | what |
//! |---|---|
//! | `run` | a run with its instruments |
//! | `debug` | the debugger, its server, attachments, events and breakpoints |
//! | `dump` | dumpers, and sinks that call back |
//! | `profile` | the profiler |
//! | `records` | buffers, contexts, batches of records; ranges, marks and counters |
//! | `session` | loading and describing models |
//! | `consumers` | libraries that receive what the program runs |
//! | `tensor` | tensors as C passes and receives them |
//! | `version` | the version of the library |
//! | `border` | statuses, error texts, handles, texts that C reads |

#![deny(unsafe_code)]
// The types have their names in C.
#![allow(non_camel_case_types)]

#[allow(unsafe_code, reason = "pointers in kept texts go to other threads")]
mod border;
mod consumers;
mod debug;
mod dump;
mod profile;
mod records;
mod run;
mod session;
mod tensor;
mod version;

pub use border::{opscope_error_text, opscope_status_t, opscope_status_text};
pub use consumers::*;
pub use debug::*;
pub use dump::*;
pub use profile::*;
pub use records::*;
pub use run::*;
pub use session::*;
pub use tensor::*;
pub use version::*;
