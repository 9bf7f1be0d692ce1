//! Tools of an HSA runtime: this library exports what makes it one, and calls the tools of rocprofiler v2 where no such runtime does.

mod exported;
mod runtime;

pub use runtime::load;
