//! What a rocprofiler v2 tool (`abi/rocprofiler-v2/tests/models/tool.c`) wrote, compared with the calls that a consumer
//! received for the same runs.

use std::collections::BTreeSet;

use crate::consumers::{Call, of};

/// A dispatch or a copy: its name, its thread, its start and end.
type Happened = (String, u64, u64, u64);

fn happened(lines: Vec<&Call>, is_named: bool) -> Vec<Happened> {
    let name = |line: &Call| if is_named { line.text("name").to_owned() } else { String::new() };
    let one = |line: &Call| (name(line), line.number("thread"), line.number("start"), line.number("end"));
    let mut all: Vec<Happened> = lines.into_iter().map(one).collect();
    all.sort();
    all
}

/// Checks that the tool wrote each dispatch and each copy that was reported to the consumer, each dispatch under its
/// operator's name, and that the records of one dispatch have the same correlation id.
#[track_caller]
pub fn is_all_of(written: &[Call], told: &[Call]) {
    let expected = happened(of(told, "dispatch_end"), true);
    assert!(!expected.is_empty() && expected.iter().all(|(name, ..)| !name.is_empty()));
    assert_eq!(happened(of(written, "dispatch"), true), expected);
    assert_eq!(happened(of(written, "KernelDispatch"), true), expected);
    assert_eq!(happened(of(written, "MemoryCopy"), false), happened(of(told, "copy"), false));
    let correlations = |what| -> BTreeSet<(u64, u64)> {
        of(written, what).into_iter().map(|line| (line.number("correlation"), line.number("start"))).collect()
    };
    let dispatches = correlations("dispatch");
    assert_eq!(dispatches, correlations("KernelDispatch"));
    let ids: BTreeSet<u64> = dispatches.iter().map(|(id, _)| *id).collect();
    assert_eq!(ids.len(), of(written, "dispatch").len(), "each dispatch has an id of its own");
    assert_eq!(of(written, "end").len(), 1);
}
