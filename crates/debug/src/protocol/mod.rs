//! What a debugger and a program say to each other over a socket: frames of JSON with raw bytes beside it.
//!
//! `docs/debug-protocol.md` describes it for those who speak it from another language; the types here are the same in
//! Rust.

mod answer;
mod frame;
mod graph;
mod request;
mod tensor;

pub use answer::{Bye, Failure, Hello, Next, Pushed};
pub(crate) use frame::frame_head;
pub use frame::{Frame, FrameError, FrameLimits, FrameReader};
pub use graph::{
    Backtrace, BacktraceFrame, ModelInfo, OperatorInfo, OperatorRow, OperatorRows, ProducerInfo, SourceText, ValueInfo,
};
pub use request::{Continuation, HelloRequest, Request, TensorForm};
pub use tensor::{At, HistogramInfo, PageInfo, Ranked, TensorPage};

/// The protocol's name, which is said first.
pub const PROTOCOL: &str = "opscope-debug";

/// The version that is spoken here. Another one is not understood; what is added within a version can be ignored.
pub const VERSION: u32 = 1;

/// A tensor comes in pages of at most so many bytes.
pub const PAGE_BYTES: usize = 16 << 20;

/// An answer to `next_events` has at most so many events.
pub const MOST_EVENTS: usize = 4096;

/// An answer to `operators` has at most so many.
pub const MOST_OPERATORS: usize = 4096;

/// An answer to `top_k` has at most so many elements.
pub const MOST_RANKED: usize = 4096;
