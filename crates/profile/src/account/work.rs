//! What operators compute and move, and how fast.

use opscope_roofline::{Bound, Roofline};
use serde::Serialize;

use super::Account;
use crate::KernelCost;

/// What an operator computes and moves in a run, and how fast: its rates are those of its median time. All numbers follow from
/// the operators and shapes of the file; see `docs/costs.md`.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Work {
    /// Floating-point operations of a run, the mean; a multiplication and an addition are two. `None` if they are not known.
    pub flops: Option<f64>,
    /// Bytes of the tensors that it takes in a run, the mean. `None` if they are not known.
    pub bytes_read: Option<f64>,
    /// Bytes of the tensors that it gives in a run, the mean. `None` if they are not known.
    pub bytes_written: Option<f64>,
    /// The element type in which most of it is computed, as in `float32`; `None` if it is not known, or there are several.
    pub dtype: Option<String>,
    /// Operations for each byte, read or written. `None` if either is not known, or nothing is moved.
    pub flops_per_byte: Option<f64>,
    /// 10^9 operations in a second.
    pub gflops_per_s: Option<f64>,
    /// 10^9 bytes in a second, read or written.
    pub gbytes_per_s: Option<f64>,
    /// How far it is from what the machine reaches. `None` before [`Account::compare_with`], or if
    /// the machine's limit for it is not known.
    pub bound: Option<Bound>,
    /// How often it was executed in a run, the mean.
    #[serde(skip)]
    pub(super) executions: f64,
    /// The time that the rates are made of, in nanoseconds for a run.
    #[serde(skip)]
    pub(super) nanos: f64,
}

impl Work {
    /// Returns the bytes of a run, read and written; `None` if they are not known.
    pub fn bytes(&self) -> Option<f64> {
        Some(self.bytes_read? + self.bytes_written?)
    }

    /// Returns what costs that were added up make of a time, in nanoseconds for a run.
    pub(super) fn new(sums: &WorkSums, runs: usize, nanos: f64) -> Self {
        let runs = runs.max(1) as f64;
        let mean = |sum: Sum| (!sum.unknown).then_some(sum.total / runs);
        let work = Self {
            flops: mean(sums.flops),
            bytes_read: mean(sums.read),
            bytes_written: mean(sums.written),
            dtype: sums.dtype.clone().flatten(),
            executions: sums.executions as f64 / runs,
            nanos,
            ..Self::default()
        };
        let bytes = work.bytes();
        let rate = |amount: Option<f64>| amount.filter(|_| nanos > 0.0).map(|amount| amount / nanos);
        Self {
            flops_per_byte: bytes.filter(|bytes| *bytes > 0.0).and_then(|bytes| Some(work.flops? / bytes)),
            gflops_per_s: rate(work.flops),
            gbytes_per_s: rate(bytes),
            ..work
        }
    }
}

impl Account {
    /// Adds to every operator how far it is from what the machine reaches. The machine must be that of the recording, with as many
    /// threads as the engine had.
    pub fn compare_with(&mut self, machine: Roofline) {
        for work in self.operators.iter_mut().filter_map(|row| row.work.as_mut()) {
            let amounts = work.flops.zip(work.bytes());
            work.bound = amounts.and_then(|(flops, bytes)| {
                machine.bound(work.dtype.as_deref(), flops, bytes, work.executions, work.nanos)
            });
        }
        self.roofline = Some(machine);
    }
}

/// Costs while they are added up.
#[derive(Debug, Clone, Default)]
pub(super) struct WorkSums {
    flops: Sum,
    read: Sum,
    written: Sum,
    /// `Some(None)` if there are several.
    dtype: Option<Option<String>>,
    executions: u64,
    of_run: f64,
    /// The operations of the first run.
    first_run: Option<f64>,
    varies: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    total: f64,
    unknown: bool,
}

impl Sum {
    fn add(&mut self, amount: Option<u64>) {
        match amount {
            Some(amount) => self.total += amount as f64,
            None => self.unknown = true,
        }
    }
}

impl WorkSums {
    /// Adds an execution.
    pub(super) fn add(&mut self, cost: &KernelCost) {
        self.executions += 1;
        self.flops.add(cost.flops);
        self.read.add(cost.bytes_read);
        self.written.add(cost.bytes_written);
        self.of_run += cost.flops.unwrap_or(0) as f64;
        if cost.flops.is_some_and(|flops| flops > 0) && self.dtype.as_ref().is_none_or(|known| *known != cost.dtype) {
            self.dtype = Some(cost.dtype.clone().filter(|_| self.dtype.is_none()));
        }
    }

    /// Ends a run in which something was executed.
    pub(super) fn end_run(&mut self) {
        let of_run = std::mem::take(&mut self.of_run);
        self.varies |= *self.first_run.get_or_insert(of_run) != of_run;
    }

    /// Returns whether anything was added.
    pub(super) fn is_known(&self) -> bool {
        self.executions > 0
    }

    /// Returns whether every run computed the same: then its median time has these costs.
    pub(super) fn is_same_in_all_runs(&self) -> bool {
        !self.varies
    }
}
