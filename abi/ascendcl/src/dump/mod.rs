//! STAND-IN, to be replaced by the room that dumps.

use opscope::Session;
use opscope::model::Instrument;
use opscope::tensor::Tensor;

use crate::border::Failure;

/// Returns whether a model that is loaded now has to show every operator.
pub fn wants_exact() -> bool {
    false
}

/// Is called when a model was loaded, before its first run: decides with the settings of this moment whether it is dumped.
pub fn loaded(_model_id: u32, _session: &Session) {}

/// Is called when a model was unloaded, after its last run.
pub fn unloaded(_model_id: u32) {}

/// Returns the instruments of a run in a stream, whose number the names of dumps have. Runs of one model do not overlap.
pub fn instruments(
    _model_id: u32,
    _session: &Session,
    _inputs: &[Tensor],
    _stream_id: i32,
) -> Result<Vec<Box<dyn Instrument>>, Failure> {
    Ok(Vec::new())
}

/// STAND-IN.
#[unsafe(no_mangle)]
pub extern "C" fn aclInit(_config_path: *const std::ffi::c_char) -> std::ffi::c_int {
    0
}

/// STAND-IN.
#[unsafe(no_mangle)]
pub extern "C" fn aclFinalize() -> std::ffi::c_int {
    0
}
