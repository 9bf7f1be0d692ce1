//! Clients in C and C++, compiled against the header and linked with the library. The program that they debug is this one: its models
//! are a few lines long, and compute what they should.

mod cuda_gdb;
mod debuggee;
mod dispatches;
mod events;
mod library;
mod readme;
mod rules;
mod same_process;
mod stops;
mod support;
