//! Programs in C and C++, compiled against the header, linked with the library, and run.

mod support;

mod instruments;
mod library;
mod misuse;
mod session;
mod tour;
