//! libcudadebugger.so.1: debuggers that were made for the CUDA Debugger API debug ONNX models with opscope, on any machine.
//!
//! A debugger gets a table of functions. They are the client's side of the debug protocol: the program that runs models is
//! another one, or the same. A model is a context with a module, an operator is a function, and its execution in a run is a grid;
//! a run that is stopped is a warp; tensors are memory.
//!
//! # What callers promise
//!
//! What `opscope-border` says of each type of a parameter. NULL where a value is needed is answered with
//! `CUDBG_ERROR_INVALID_ARGS`. A callback takes the arguments of its type for as long as the library may call it.
//!
//! # Rooms
//!
//! Each file or folder is a room, and imports from rooms below it only:
//!
//! | room | what |
//! |---|---|
//! | `exports` | the exported functions |
//! | `pipes` | the server for cuda-gdb, which speaks over named pipes |
//! | `table` | the table of functions, in the order of the interface |
//! | `calls` | the functions of the table |
//! | `session` | the connection to the program, its events, and the thread that calls the client |
//! | `image` | the ELF image of a model |
//! | `graph`, `addresses` | a model's operators and values, and where they are |
//! | `version`, `globals` | what the client asked for; the variables that it reads and writes |
//! | `border` | answers, the texts of failures, and calls inside of callbacks |
//! | `layout` | the structures that clients read and write, and their numbers |

#![deny(unsafe_code)]
// The exported names are those of C.
#![allow(missing_docs, non_snake_case)]

/// What messages call this library.
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
