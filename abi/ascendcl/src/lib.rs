//! libascendcl: runs programs that were written for AscendCL on any machine, with an `.onnx` file in place of the
//! vendor's `.om`.
//!
//! # What callers must guarantee
//!
//! `opscope-border` documents this for each parameter type. If a required pointer is NULL, the call returns 100000. A
//! callback must accept the arguments of its type as long as the library may call it.
//!
//! # Rooms
//!
//! Each file or folder is a room. It imports only from the rooms below it:
//!
//! | room | what |
//! |---|---|
//! | `lifecycle` | `aclInit` and `aclFinalize` |
//! | `unsupported` | functions whose service does not exist here |
//! | `execution` | runs of models |
//! | `descriptions` | the description of a model that a program queries |
//! | `models` | reading, loading and unloading models |
//! | `dump`, `recordings` | dumps of computed tensors; recordings of runs |
//! | `configuration` | whether the library is initialized, and its configuration file |
//! | `data` | data buffers and datasets |
//! | `tensors` | types, formats, descriptions of tensors |
//! | `information` | versions, the name and features of the device; the log; exceptions |
//! | `devices` | the device: set, reset, synchronize |
//! | `callbacks` | functions of the program that a stream calls |
//! | `events` | marks in streams that can be waited for |
//! | `memory` | memory of the device and the host, and copies |
//! | `contexts` | contexts, and the streams in them |
//! | `streams` | queues of work, each with a thread |
//! | `thread_context` | a thread's context, and the last code of a runtime function in it |
//! | `handles`, `forks` | numbers and pointers that stand for objects; state in the child of a fork |
//! | `border` | error codes, the texts of failures, pointers |

#![deny(unsafe_code)]
// The exported functions have their names in C.
#![allow(missing_docs, non_snake_case)]

mod border;
mod callbacks;
mod configuration;
mod contexts;
mod data;
mod descriptions;
mod devices;
mod dump;
mod events;
mod execution;
mod forks;
mod handles;
mod information;
mod lifecycle;
mod memory;
mod models;
mod recordings;
mod streams;
mod tensors;
mod thread_context;
mod unsupported;
