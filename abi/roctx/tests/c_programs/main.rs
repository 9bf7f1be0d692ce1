//! Programs in C and C++, compiled against the headers, linked with the libraries, and run with and without a profiler.

mod support;

mod functions;
mod library;
mod registration;
mod slot;
