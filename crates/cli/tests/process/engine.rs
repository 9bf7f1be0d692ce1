//! The engine with which the tests of this program run.

use std::cell::Cell;
use std::sync::{Arc, OnceLock};

use opscope::engine::{Library, LibraryError};
use opscope_model::testing::skipped;

/// Returns the name of the engine that commands use if they name none: `onnxruntime` in the program of that name if its
/// library is found, else `tract`.
pub fn name() -> &'static str {
    static FOUND: OnceLock<Result<Arc<Library>, LibraryError>> = OnceLock::new();
    thread_local! {
        static SAID: Cell<bool> = const { Cell::new(false) };
    }
    if !module_path!().starts_with("with_onnxruntime::") {
        return "tract";
    }
    match FOUND.get_or_init(|| Library::find(None)) {
        Ok(_) => "onnxruntime",
        Err(error) => {
            if !SAID.replace(true) {
                skipped(error.to_string().lines().next().unwrap_or_default());
            }
            "tract"
        }
    }
}

/// Returns whether that engine is ONNX Runtime.
pub fn is_onnxruntime() -> bool {
    name() == "onnxruntime"
}
