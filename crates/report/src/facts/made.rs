//! Accounts of runs that never took place, for tests of what a page shows of them.

use opscope_model::Fidelity;
use opscope_profile::{Account, OperatorTimes, RunCounts, RunTimes, Work};

/// Returns an operator that takes a nanosecond.
pub(crate) fn operator(name: &str, work: Option<Work>) -> OperatorTimes {
    OperatorTimes {
        operator: name.to_owned(),
        origin: None,
        op_type: "Conv".to_owned(),
        added: false,
        kernel_ops: Vec::new(),
        fused: Vec::new(),
        exact: true,
        dispatches: 1,
        total_ns: 1.0,
        mean_ns: 1.0,
        median_ns: 1.0,
        median_interval_95_ns: None,
        p90_ns: 1.0,
        p99_ns: 1.0,
        percent: 1.0,
        work,
    }
}

/// Returns the account of a recording of these operators.
pub(crate) fn account(runs: RunCounts, operators: Vec<OperatorTimes>) -> Account {
    Account {
        schema: "opscope.account/1",
        model: "models/made.onnx".to_owned(),
        engine: "paper".to_owned(),
        fidelity: Fidelity::Optimised,
        complete: true,
        runs,
        run: RunTimes::default(),
        shares: None,
        devices: Vec::new(),
        time_resolution_ns: 1,
        engine_profile: None,
        untimed: None,
        copies: Vec::new(),
        tensor_memory: None,
        operators,
        op_types: Vec::new(),
        ranges: Vec::new(),
        roofline: None,
    }
}
