//! librocprofiler64.so.2: runs tools that were made for AMD's rocprofiler v2, on any machine.
//!
//! A tool is compiled against the vendor's header, or against that in `include`. What it learns of comes from a ROCTx runtime, which
//! calls back for each of its calls, and from programs that run models with opscope.
//!
//! # What callers promise
//!
//! What `opscope-border` says of each type of a parameter. NULL where a value is needed is answered with
//! `InvalidArguments`. A callback takes the arguments of its type for as long as the library may call it.
//!
//! # Rooms
//!
//! Each folder is a room, and imports from rooms below it only:
//!
//! | room | what |
//! |---|---|
//! | `unsupported` | functions that answer that there is no such service |
//! | `library` | versions, the beginning and the end, the time, forks, producers |
//! | `hsa_tools` | what an HSA runtime looks for in this library, and what it does with tools |
//! | `calls` | sessions, filters and buffers, as tools use them |
//! | `queries` | what tools ask of agents, queues, kernels, counters and operations |
//! | `sources` | where records come from: ROCTx runtimes and opscope's producers |
//! | `sessions` | sessions with their filters and buffers, and where the records of the active one go |
//! | `buffers` | where records wait, and how they are packed and delivered |
//! | `kinds`, `machine` | numbers and names; agents and a queue |
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
mod machine;
mod queries;
mod sessions;
mod sources;
mod threads;
mod unsupported;
