//! How a file is rewritten before ONNX Runtime reads it.

mod external_files;
mod holds;
mod naming;
mod taps;
mod values;

pub(crate) use self::external_files::ExternalFiles;
pub(crate) use self::holds::{Holds, hold};
pub(crate) use self::naming::named;
pub(crate) use self::taps::{Apart, Slot, Source, Tap, Taps, tapped};
pub(crate) use self::values::is_constant;
pub(crate) use values::typed;
