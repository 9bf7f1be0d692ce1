//! Tools of an HSA runtime. This library exports the symbols of such a tool. If the process has no HSA runtime, it also
//! calls the tools of rocprofiler v2 as a runtime would.

mod exports;
mod runtime;

pub use runtime::load;
