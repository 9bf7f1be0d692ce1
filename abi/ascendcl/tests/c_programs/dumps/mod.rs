//! Dumps: what callbacks and files get, compared with what the library's own dumper takes of the same runs.

mod scene;
mod streams;

mod files;
mod fixtures;
mod inside;
mod misuse;
mod recordings;
mod selection;
mod sequences;
mod threads;
