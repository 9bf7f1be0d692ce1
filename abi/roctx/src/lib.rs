//! opscope's own ROCTx runtime: the functions through which a program marks what it does, and the tables through which a
//! profiler receives it.
//!
//! Two shared libraries are made of this crate, each with a state of its own: `librocprofiler-sdk-roctx.so.1`, and the older
//! `libroctx64.so.4`, which also has a slot for one callback. Their names and symbols are in `libraries/`.
//!
//! # What callers promise
//!
//! What `opscope-border` says of each type of a parameter. What a profiler stores into a table is NULL, or a function
//! of the entry's type that stays loaded as long as the process.
//!
//! No function is ever called with a lock held, and none waits for another thread. A child of `fork` continues with what
//! its parent had: tables, slot, and the levels of the thread that forked.
//!
//! # Rooms
//!
//! Each imports from those below it only:
//!
//! | room | what |
//! |---|---|
//! | `functions` | the exported functions: register once, call the slot, call through the table |
//! | `slot` | the callback of the older library |
//! | `registration` | finds the profiler on the first call, and gives it the tables |
//! | `tables` | the three tables, whose entries a profiler overwrites |
//! | `unwrapped` | what the functions do where no profiler has wrapped them: levels and ids |

#![deny(unsafe_code)]

mod functions;
mod registration;
mod slot;
mod tables;
mod unwrapped;

pub use functions::*;
pub use slot::{Callback, roctxRegisterTracerCallback};
