//! librocprofiler-sdk: runs tools that were written for AMD's rocprofiler-sdk, version 1, on any machine.
//!
//! A tool is compiled against the vendor's headers, or against those in `include`. Its records come from two sources:
//! ROCTx runtimes, which pass the tables of their functions, and programs that run models with opscope.
//!
//! # What callers must guarantee
//! `opscope-border` documents this for each parameter type. If a required pointer is NULL, the call returns
//! `InvalidArgument`. A callback must accept the arguments of its type as long as the library may call it.
//!
//! # Rooms
//!
//! Each file or folder is a room. It imports only from the rooms below it:
//!
//! | room | what |
//! |---|---|
//! | `unsupported` | functions whose service does not exist here |
//! | `lifecycle` | finding, initializing and finalizing tools; the entry points of runtimes and producers |
//! | `producer` | what opscope's producers report: models as code objects, dispatches, copies, memory |
//! | `markers` | ROCTx: wrappers around a runtime's functions |
//! | `tracing` | reporting an event to the contexts that want it |
//! | `services` | what contexts trace, and where it goes |
//! | `correlation` | external correlation ids |
//! | `buffers` | where records wait, and the threads that call back |
//! | `contexts` | switches for sets of services |
//! | `agents` | the processor and the engine |
//! | `version` | versions, the time, the calling thread |
//! | `phase` | how far initialization and finalization are |
//! | `exit` | the exit of the process, before which tools are finalized |
//! | `kinds` | kinds of services and their operations: numbers and names |
//! | `handles`, `stored_records`, `thread` | ids of objects; how buffers store records; the state of a thread |
//! | `ids` | internal correlation ids |
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
mod ids;
mod kinds;
#[allow(unsafe_code, reason = "it says what structs consist of")]
mod layout;
mod lifecycle;
mod markers;
mod phase;
mod producer;
mod services;
mod stored_records;
mod thread;
mod tracing;
mod unsupported;
mod version;
