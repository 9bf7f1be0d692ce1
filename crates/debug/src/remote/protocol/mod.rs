//! The debug protocol: the messages of a debugger and a program over a socket, as frames of JSON and raw bytes.
//!
//! `docs/debug-protocol.md` describes it for other languages; these are its types in Rust.

mod answer;
mod frame;
mod graph;
mod request;
mod tensor;

pub use crate::error::{ErrorCode, Refusal};
pub use answer::{Bye, Hello, Next, ProgramMessage};
pub(crate) use frame::frame_head;
pub use frame::{Frame, FrameError, FrameLimits, FrameReader};
pub use graph::{
    Backtrace, BacktraceFrame, ModelInfo, OperatorInfo, OperatorRow, OperatorRows, ProducerInfo, SourceText, ValueInfo,
    ValueRows,
};
pub use request::{Continuation, HelloRequest, Request, TensorForm};
pub use tensor::{At, HistogramInfo, PageInfo, Ranked, TensorPage};

/// The protocol's name, as `hello` has it.
pub const PROTOCOL: &str = "opscope-debug";

/// The protocol's version. Other versions are refused; additions within a version can be ignored.
pub const VERSION: u32 = 1;

/// The maximum number of bytes in a page of a tensor.
pub const PAGE_BYTES: usize = 16 << 20;

/// The maximum number of events in an answer to `next_events`.
pub const MOST_EVENTS: usize = 4096;

/// The maximum number of operators in an answer to `operators`.
pub const MOST_OPERATORS: usize = 4096;

/// The maximum number of values in an answer to `values`.
pub const MOST_VALUES: usize = 4096;

/// The maximum number of elements in an answer to `top_k`.
pub const MOST_RANKED: usize = 4096;
