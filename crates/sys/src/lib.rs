//! What the crates of opscope take from the operating system and from the standard library's locks.
//!
//! | file | has |
//! |---|---|
//! | `lock` | [`Mutex`], [`RwLock`], [`Condvar`]: a panic does not poison them |
//! | `thread` | [`thread_id`]: the system's number of a thread; [`yield_processors`]: its priority |
//! | `memory` | the memory of the machine, of its control group, and of this process |
#![forbid(unsafe_code)]

mod lock;
pub mod memory;
mod thread;

pub use lock::{Condvar, Mutex, RwLock};
pub use std::sync::{MutexGuard, RwLockReadGuard, RwLockWriteGuard};
pub use thread::{thread_id, yield_processors};
