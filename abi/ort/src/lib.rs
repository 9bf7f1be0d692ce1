//! A library to be preloaded into a program that uses ONNX Runtime by its C interface. It stands in for the function
//! `OrtGetApiBase` and forwards to the program's own library. If the environment asks for it, the sessions that the
//! program makes are profiled, dumped, looked at for NaN and infinity, or can be debugged.
//!
//! If nothing is asked for, the program gets the library's own table of functions, so that its calls cost what they
//! cost without this library. Otherwise it gets a copy of the table, in which the functions that create environments,
//! and those that make, run and release sessions are replaced. The program's sessions are the library's own in any case: what is looked at runs in other
//! sessions, beside them, with the same options. Only while a debugger is attached do the program's calls run such a
//! session instead.
//!
//! # Rooms
//!
//! Each room imports only from those below it:
//!
//! | room | what |
//! |---|---|
//! | `entry` | how the program finds the library: `OrtGetApiBase`, and `dlsym` for programs that look it up |
//! | `tables` | the library's tables, with replaced functions |
//! | `calls` | the replaced functions |
//! | `interface` | the libraries of the process, and their own tables |
//! | `sessions` | the program's sessions, by their handles |
//! | `bindings` | what the program has bound as inputs, by its bindings |
//! | `threads` | the threads that the program chooses for its sessions |
//! | `observed` | a session of the program, and what runs beside it |
//! | `model` | a model that runs beside a session of the program |
//! | `debug_server` | the debugger of the process |
//! | `requested` | dumps and recordings that a command asks for while the program runs |
//! | `variables` | what the environment asks for |
//! | `messages` | lines on stderr |

#![deny(unsafe_code)]

mod bindings;
// The functions that C calls, and what they are given.
#[allow(unsafe_code)]
mod calls;
mod debug_server;
// The system's loader, and a function in assembler.
#[allow(unsafe_code)]
mod entry;
// The library's own functions.
#[allow(unsafe_code)]
mod interface;
mod messages;
mod model;
mod observed;
mod requested;
mod sessions;
// Copies of tables whose size is not known.
#[allow(unsafe_code)]
mod tables;
mod threads;
mod variables;
