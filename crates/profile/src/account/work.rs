//! The work of operators: what they compute and move, and how fast.

use opscope_roofline::{Bound, Roofline};
use opscope_tensor::DType;
use serde::Serialize;

use super::Account;
use crate::KernelCost;

/// The work of an operator in a run: what it computes and moves, and how fast. The rates are those of its median time.
/// All numbers are derived from the operators and shapes of the file; see `docs/costs.md`.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Work {
    /// The mean number of floating-point operations in a run; a multiplication and an addition are two. `None` if it is
    /// not known.
    pub flops: Option<f64>,
    /// The mean number of bytes of its input tensors in a run. `None` if it is not known.
    pub bytes_read: Option<f64>,
    /// The mean number of bytes of its output tensors in a run. `None` if it is not known.
    pub bytes_written: Option<f64>,
    /// The element type in which most of it is computed, such as `float32`; `None` if it is not known, or there are
    /// several.
    pub dtype: Option<DType>,
    /// Operations per byte that is read or written. `None` if either is not known, or no byte is moved.
    pub flops_per_byte: Option<f64>,
    /// 10^9 operations per second.
    pub gflops_per_s: Option<f64>,
    /// 10^9 bytes per second, read or written.
    pub gbytes_per_s: Option<f64>,
    /// How far it is from the machine's limit. `None` before [`Account::compare_with`], or if the limit for it is not
    /// known.
    pub bound: Option<Bound>,
    /// The mean number of executions in a run.
    #[serde(skip)]
    pub(super) executions: f64,
    /// The time from which the rates are computed, in nanoseconds per run.
    #[serde(skip)]
    pub(super) nanos: f64,
}

impl Work {
    /// Returns the bytes that are read and written in a run; `None` if they are not known.
    pub fn bytes(&self) -> Option<f64> {
        Some(self.bytes_read? + self.bytes_written?)
    }

    /// Returns the work for summed costs and a time in nanoseconds per run.
    pub(super) fn new(sums: &WorkSums, runs: usize, nanos: f64) -> Self {
        let runs = runs.max(1) as f64;
        let mean = |sum: Sum| (!sum.unknown).then_some(sum.total / runs);
        let work = Self {
            flops: mean(sums.flops),
            bytes_read: mean(sums.read),
            bytes_written: mean(sums.written),
            dtype: sums.dtype.flatten(),
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
    /// Adds to every operator how far it is from the machine's limit. The machine must be that of the recording, with
    /// as many threads as the engine had.
    pub fn compare_with(&mut self, machine: Roofline) {
        for work in self.operators.iter_mut().filter_map(|row| row.work.as_mut()) {
            let amounts = work.flops.zip(work.bytes());
            work.bound = amounts.and_then(|(flops, bytes)| {
                machine.bound(work.dtype.map(DType::name), flops, bytes, work.executions, work.nanos)
            });
        }
        self.roofline = Some(machine);
    }
}

/// The running sums of costs.
#[derive(Debug, Clone, Default)]
pub(super) struct WorkSums {
    flops: Sum,
    read: Sum,
    written: Sum,
    /// The element type; `Some(None)` if there are several.
    dtype: Option<Option<DType>>,
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
        if cost.flops.is_some_and(|flops| flops > 0) && self.dtype.is_none_or(|known| known != cost.dtype) {
            self.dtype = Some(cost.dtype.filter(|_| self.dtype.is_none()));
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

    /// Returns whether every run did the same work. If so, the costs also belong to the median time.
    pub(super) fn is_same_in_all_runs(&self) -> bool {
        !self.varies
    }
}
