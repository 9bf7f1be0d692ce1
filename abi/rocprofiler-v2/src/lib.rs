//! librocprofiler64.so.2: runs tools that were written for AMD's rocprofiler v2, on any machine.
//!
//! A tool is compiled against the vendor's header, or against that in `include`. Its records come from two sources: a
//! ROCTx runtime, which calls back for each of its calls, and programs that run models with opscope.
//!
//! # What callers must guarantee
//! `opscope-border` documents this for each parameter type. If a required pointer is NULL, the call returns
//! `InvalidArguments`. A callback must accept the arguments of its type as long as the library may call it.
//!
//! # Rooms
//!
//! Each file or folder is a room. It imports only from the rooms below it:
//!
//! | room | what |
//! |---|---|
//! | `library` | versions, initialization and finalization, the time, forks, producers; functions without a service here |
//! | `hsa_tools` | the symbols that an HSA runtime looks up in this library, and what it does with tools |
//! | `calls` | the functions for sessions, filters and buffers |
//! | `queries` | the queries about agents, queues, kernels, counters and operations |
//! | `sources` | where records come from: ROCTx runtimes and opscope's producers |
//! | `sessions` | sessions with their filters and buffers, and where the records of the active one go |
//! | `buffers` | where records wait, and how they are packed and delivered |
//! | `kinds` | numbers and names; agents and a queue |
//! | `layout` | the structures that tools read and write |
//! | `border` | statuses, pointers, calls of tools |
//! | `threads` | the calling thread: its number, an identity, and whether it is in a callback |

#![deny(unsafe_code)]
#![allow(missing_docs)]

mod border;
mod buffers;
mod calls;
mod hsa_tools;
mod kinds;
#[allow(unsafe_code, reason = "it says what structs consist of")]
mod layout;
mod library;
mod queries;
mod sessions;
mod sources;
mod threads;
