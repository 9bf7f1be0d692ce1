//! What the adapter offers to an editor.

use serde_json::{Value, json};

use super::breakpoints::exception_filters;

/// Returns the answer to `initialize`.
pub fn capabilities() -> Value {
    json!({
        "supportsConfigurationDoneRequest": true,
        "supportsFunctionBreakpoints": true,
        "supportsConditionalBreakpoints": true,
        "supportsHitConditionalBreakpoints": true,
        "supportsDataBreakpoints": true,
        "supportsEvaluateForHovers": true,
        "supportsSetVariable": true,
        "supportsReadMemoryRequest": true,
        "supportsExceptionInfoRequest": true,
        "supportsLoadedSourcesRequest": true,
        "supportsTerminateRequest": true,
        "exceptionBreakpointFilters": exception_filters(),
    })
}
