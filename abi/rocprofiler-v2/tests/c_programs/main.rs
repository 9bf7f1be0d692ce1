//! Tools in C and C++, compiled against the headers, linked with the library, and run each in a process of its own.

mod support;

mod buffers;
mod damage;
mod library;
mod producers;
mod roctx;
mod sessions;
