//! librocprofiler-sdk: runs tools that were made for AMD's rocprofiler-sdk, version 1, on any machine.
//!
//! A tool is compiled against the vendor's headers, or against those in `include`. What it learns of comes from ROCTx runtimes, which
//! hand over the tables of their functions, and from programs that run models with opscope.
//!
//! # What callers promise
//!
//! What `opscope-border` says of each type of a parameter. NULL where a value is needed is answered with
//! `InvalidArgument`. A callback takes the arguments of its type for as long as the library may call it.
//!
//! # Rooms
//!
//! Each folder is a room, and imports from rooms below it only:
//!
//! | room | what |
//! |---|---|
//! | `unsupported` | functions that answer that there is no such service |
//! | `lifecycle` | tools: finding, initializing and finalizing them; where runtimes and producers come in |
//! | `producer` | what opscope's producers run: models as code objects, dispatches, copies, memory |
//! | `markers` | ROCTx: wrappers around a runtime's functions |
//! | `tracing` | telling the contexts that want to know |
//! | `services` | what contexts trace, and where it goes |
//! | `correlation` | external correlation ids |
//! | `buffers` | where records wait, and the threads that call back |
//! | `contexts` | switches for sets of services |
//! | `agents` | the processor and the engine |
//! | `version` | versions, the time, the calling thread |
//! | `phase` | where the library is between its first use and its end |
//! | `exit` | the exit of the process, where tools end before their objects |
//! | `kinds` | kinds of services and their operations: numbers and names |
//! | `handles`, `stored`, `thread` | numbers of ids; how records lie in buffers; what belongs to a thread |
//! | `layout` | the structures that tools read and write |
//! | `border` | statuses, pointers, calls of tools |

#![deny(unsafe_code)]
#![allow(missing_docs)]

mod agents;
mod border;
mod buffers;
mod contexts;
mod correlation;
mod exit;
mod handles;
mod kinds;
#[allow(unsafe_code, reason = "it says what structs consist of")]
mod layout;
mod lifecycle;
mod markers;
mod phase;
mod producer;
mod services;
mod stored;
mod thread;
mod tracing;
mod unsupported;
mod version;
