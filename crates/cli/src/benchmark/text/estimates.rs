//! Estimated dumps.

use std::fmt::Write;

use opscope::dump::Estimate;
use opscope::text::{counted, shown_size};

/// Formats the estimated dumps as JSON, one for each set of shapes.
pub fn estimates_json(estimates: &[Estimate]) -> serde_json::Value {
    let all = estimates.iter().map(|estimate| {
        serde_json::json!({
            "tensors": estimate.tensors, "bytes": estimate.bytes, "unknown": estimate.unknown,
            "missing": estimate.missing, "at_most": estimate.at_most,
        })
    });
    serde_json::json!({ "schema": "opscope.dump-estimate/1", "dumps": all.collect::<Vec<_>>() })
}

/// Formats the estimated dumps as text.
pub fn estimates(estimates: &[Estimate]) -> String {
    let line = |estimate: &Estimate| {
        let at_most = if estimate.at_most { "at most " } else { "" };
        let mut line = format!("{at_most}{}, {}", counted(estimate.tensors, "tensor"), shown_size(estimate.bytes));
        if estimate.unknown > 0 {
            let _ = write!(line, "; the sizes of {} more are not known before they are computed", estimate.unknown);
        }
        if estimate.missing > 0 {
            let _ = write!(line, "; {} cannot be captured", estimate.missing);
        }
        line
    };
    estimates.iter().map(line).collect::<Vec<_>>().join("\n")
}
