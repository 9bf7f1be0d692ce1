//! libcudadebugger.so.1: with it, debuggers that were made for the CUDA Debugger API debug ONNX models, on any machine.
//!
//! A debugger gets a table of functions, which are the client side of the debug protocol. The program that runs models
//! is another process or the debugger's own. A model is shown as a context with a module, an operator as a function, a
//! dispatch of an operator as a grid, a stopped run as a warp, and tensors as memory.
//!
//! # What callers must guarantee
//!
//! `opscope-border` documents this for each parameter type. If a required pointer is NULL, the call returns
//! `CUDBG_ERROR_INVALID_ARGS`. A callback must accept the arguments of its type as long as the library may call it.
//!
//! # Rooms
//!
//! Each file or folder is a room, and imports only from rooms below it:
//!
//! | room | what |
//! |---|---|
//! | `exports` | the exported functions |
//! | `pipes` | the server for cuda-gdb, which communicates over named pipes |
//! | `table` | the table of functions, in the order of the interface |
//! | `calls` | the functions of the table |
//! | `session` | the connection to the program, its events, and the thread that calls the client |
//! | `image` | the ELF image of a model |
//! | `graph`, `addresses` | a model's operators and values, and their addresses |
//! | `version`, `globals` | the version that the client asked for; the variables that it reads and writes |
//! | `border` | codes and texts of failures, and calls inside callbacks |
//! | `layout` | the structures that clients read and write, and their numbers |

#![deny(unsafe_code)]
// The exported functions have their names in C.
#![allow(missing_docs, non_snake_case)]

/// The name of this library in messages.
const LIBRARY: &str = "libcudadebugger";

pub mod addresses;
mod border;
mod calls;
mod exports;
#[allow(unsafe_code, reason = "it exports variables, and reads those of another library")]
mod globals;
pub mod graph;
pub mod image;
#[allow(unsafe_code, reason = "it says what structures consist of")]
pub mod layout;
mod pipes;
mod session;
mod table;
mod version;
