//! How a file is rewritten before ONNX Runtime reads it.

mod external;
mod held;
mod named;
mod taps;
mod typed;
mod values;

pub(crate) use self::external::ExternalFiles;
pub(crate) use self::held::{Holds, hold};
pub(crate) use self::named::named;
pub(crate) use self::taps::{Apart, Slot, Source, Tap, Taps, tapped};
pub(crate) use self::typed::typed;
pub(crate) use self::values::is_constant;
