//! Programs in C and C++, compiled against the headers and linked with the library.

mod support;

mod dumps;
mod extras;
mod gears;
mod handover;
mod library;
mod models;
mod readme;
mod runtime;
mod seed;
