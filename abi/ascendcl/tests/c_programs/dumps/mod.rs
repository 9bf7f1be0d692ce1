//! Dumps: the tensors that callbacks and files receive, compared with those that the library's own dumper captures in
//! the same runs.

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
