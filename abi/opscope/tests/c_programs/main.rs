//! Programs in C and C++, compiled against the header, linked with the library, and run.

#[path = "../../../../crates/producer/tests/support/mod.rs"]
mod consumer;
mod support;
#[path = "../../../rocprofiler-sdk/tests/models/trace.rs"]
mod trace;
#[path = "../../../rocprofiler-v2/tests/models/trace.rs"]
mod v2_trace;

mod instruments;
mod library;
mod misuse;
mod session;
mod tools;
mod tour;
mod v2_tools;
