//! libascendcl: runs programs that were made for AscendCL on any machine, with an `.onnx` file where the vendor takes an `.om`.
//!
//! # What callers promise
//!
//! What is said here holds for all functions, and is not repeated. A pointer is NULL, or valid for what the function's description
//! says; NULL where a value is needed is answered with 100000. A callback takes the arguments of its type for as long as the
//! library may call it.
//!
//! # Rooms
//!
//! Each folder is a room, and imports from rooms below it only:
//!
//! | room | what |
//! |---|---|
//! | `dump` | what is captured, and where it goes |
//! | `border` | error codes, the texts of failures, pointers |

// `unsafe` means in all functions what is said above. The exported names are those of C.
#![allow(missing_docs, clippy::missing_safety_doc, non_snake_case)]

mod border;
mod dump;
