//! Tools of an HSA runtime: this library exports what makes it such a tool, and calls the tools of rocprofiler v2 if no
//! such runtime does.

mod exports;
mod runtime;

pub use runtime::load;
