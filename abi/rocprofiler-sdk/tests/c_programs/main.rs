//! Tools in C and C++, compiled against the headers, linked with the library and a ROCTx runtime, and run.

mod support;

mod buffers;
mod callbacks;
mod correlation;
mod exceptions;
mod intercept;
mod library;
mod lifecycle;
mod markers;
mod names;
mod producer;
mod statuses;
mod threads;
