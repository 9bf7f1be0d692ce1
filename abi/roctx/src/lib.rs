//! opscope's own ROCTx runtime: the functions with which a program marks what it does, and the tables through which a
//! profiler receives these marks.
//!
//! Two shared libraries are built from this crate, each with its own state: `librocprofiler-sdk-roctx.so.1`, and the
//! older `libroctx64.so.4`, which also has a slot for one callback. Their names and symbols are in `libraries/`.
//!
//! # What callers must guarantee
//!
//! `opscope-border` documents this for each parameter type. A profiler may only store NULL into a table, or a function
//! of the entry's type that stays loaded until the process ends.
//!
//! No function is ever called with a lock held, and none waits for another thread. The child of a `fork` continues with
//! its parent's state: the tables, the slot, and the levels of the thread that forked.
//!
//! # Rooms
//!
//! Each room imports only from those below it:
//!
//! | room | what |
//! |---|---|
//! | `functions` | the exported functions: register once, call the slot, call through the table |
//! | `slot` | the callback of the older library |
//! | `registration` | finds the profiler at the first call, and passes it the tables |
//! | `tables` | the three tables, whose entries a profiler overwrites |
//! | `unwrapped_functions` | what the functions do if no profiler has wrapped them: levels and ids |

#![deny(unsafe_code)]

mod functions;
mod registration;
mod slot;
mod tables;
mod unwrapped_functions;

pub use functions::*;
pub use slot::{Callback, roctxRegisterTracerCallback};
