//! The extension of the Python package `opscope`: it turns arrays into tensors and tables into streams, and calls the
//! library.
//!
//! # Rooms
//!
//! Each file or folder is a room, and imports from rooms below it only:
//!
//! | room | what |
//! |---|---|
//! | `compare` | comparisons of models and dumps |
//! | `reduce` | the smallest model that still fails |
//! | `precision` | which operators must stay in float32 |
//! | `import` | traces of other tools as recordings |
//! | `torch` | PyTorch programs that are watched |
//! | `model` | a model: runs, benchmarks, profiles, dumps |
//! | `debug` | the debugger of one run, and of sessions that clients attach to |
//! | `stored` | dumps on the disk |
//! | `records` | ranges, marks, and what is recorded of them |
//! | `inputs` | what a model is given |
//! | `tensor` | tensors that are handed out |
//! | `border` | memory of other programs: the only unsafe code |
//! | `table` | tables, and what a notebook shows |
//! | `columns` | the columns of tables |
//! | `waiting` | work on a thread of its own |
//! | `failure` | errors as exceptions |
//! | `command` | the command, and opening what it wrote |

#![deny(unsafe_code)]

#[allow(unsafe_code)]
mod border;
mod columns;
mod command;
mod compare;
mod debug;
mod failure;
mod import;
mod inputs;
mod model;
mod precision;
mod records;
mod reduce;
mod stored;
mod table;
mod tensor;
mod torch;
mod waiting;

use pyo3::prelude::*;

/// The library and the command, for the package `opscope`.
#[pymodule]
mod _opscope {
    #[pymodule_export]
    use super::command::{open_path, run_command};
    #[pymodule_export]
    use super::compare::{Comparison, FirstDivergence, compare_tensors};
    #[pymodule_export]
    use super::debug::{DebugSession, ServedSession, SessionCapture, SessionServer, Slots, Stop};
    #[pymodule_export]
    use super::import::{ImportedTrace, import_trace};
    #[pymodule_export]
    use super::model::{Benchmark, DumpStream, Model, Profile, Value, load_model};
    #[pymodule_export]
    use super::precision::{Precision, find_precision};
    #[pymodule_export]
    use super::records::{NamedRange, Recorder, mark};
    #[pymodule_export]
    use super::reduce::{Reduced, reduce_model};
    #[pymodule_export]
    use super::stored::{Dump, DumpedOperator};
    #[pymodule_export]
    use super::table::Table;
    #[pymodule_export]
    use super::tensor::{StatisticsObject, TensorObject};
    #[pymodule_export]
    use super::torch::{
        TorchServer, TorchTap, close_abandoned_dump, close_abandoned_profile, instrument_program, read_acl_json,
    };

    /// The version of the package.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
