//! libascendcl: runs programs that were made for AscendCL on any machine, with an `.onnx` file where the vendor takes an `.om`.
//!
//! # What callers promise
//!
//! What `opscope-border` says of each type of a parameter. NULL where a value is needed is answered with 100000. A
//! callback takes the arguments of its type for as long as the library may call it.
//!
//! # Rooms
//!
//! Each folder is a room, and imports from rooms below it only:
//!
//! | room | what |
//! |---|---|
//! | `lifecycle` | `aclInit` and `aclFinalize` |
//! | `unsupported` | functions that answer that there is no such service |
//! | `execution` | runs of models |
//! | `descriptions` | what a program asks about a model |
//! | `models` | read, load, unload |
//! | `dump`, `recordings` | dumps of what models compute; recordings of what they ran |
//! | `configuration` | whether the library is initialized, and the file that says what to do |
//! | `data` | data buffers and datasets |
//! | `tensors` | types, formats, descriptions of tensors |
//! | `information` | versions, the name of the device, what it can do; the log; exceptions |
//! | `devices` | the device: set, reset, synchronize |
//! | `callbacks` | functions of the program that a stream calls |
//! | `events` | marks in streams, to wait for |
//! | `memory` | memory of the device and the host, and copies |
//! | `contexts` | contexts, and the streams in them |
//! | `streams` | queues of work, each with a thread |
//! | `last_error` | the last code of a runtime function in a thread |
//! | `objects` | objects that a program knows as pointers to structs |
//! | `current`, `handles`, `forks` | a thread's context; numbers for objects; what a fork leaves |
//! | `border` | error codes, the texts of failures, pointers |

#![deny(unsafe_code)]
// The exported names are those of C.
#![allow(missing_docs, non_snake_case)]

mod border;
mod callbacks;
mod configuration;
mod contexts;
mod current;
mod data;
mod descriptions;
mod devices;
mod dump;
mod events;
mod execution;
mod forks;
mod handles;
mod information;
mod last_error;
mod lifecycle;
mod memory;
mod models;
mod objects;
mod recordings;
mod streams;
mod tensors;
mod unsupported;
