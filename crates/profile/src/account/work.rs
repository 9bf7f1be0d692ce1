//! The work of operators: what they compute and move, and how fast.
//!
//! The table of the work of operators.

use std::fmt::Write;

use opscope_roofline::{Bandwidth, Bound, Roofline};
use opscope_tensor::DType;
use opscope_text::Column::{Ends, Numbers};
use opscope_text::{TextTable, shown_size, wrapped};
use serde::Serialize;

use super::Account;
use super::text::first_of;
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

impl Account {
    /// Writes the work of the operators, and how far they are from the machine's limits. Writes nothing if the
    /// recording lacks these data.
    pub(super) fn write_work(&self, text: &mut String, top: usize, width: usize) {
        let rows: Vec<_> = self.operators.iter().filter_map(|row| Some((row, row.work.as_ref()?))).collect();
        if rows.iter().all(|(_, work)| work.flops.is_none() && work.bytes().is_none()) {
            return;
        }
        let mut columns = vec![Ends("operator"), Ends("type"), Numbers("GFLOP"), Numbers("GFLOP/s"), Numbers("GB/s")];
        if self.roofline.is_some() {
            columns.push(Numbers("of bound"));
        }
        let mut table = TextTable::new(columns).within(width);
        for (row, work) in rows.iter().take(top) {
            let fused = if row.fused.is_empty() { String::new() } else { format!(" +{} fused", row.fused.len()) };
            let cells = [format!("{}{fused}", row.display_name()), row.op_type.clone()];
            let bound = self.roofline.is_some().then(|| bound(work));
            table.row(cells.into_iter().chain(numbers(work)).chain(bound).collect::<Vec<_>>());
        }
        let _ = write!(text, "\nWork of operators by time{}\n{}", first_of(top, rows.len()), table.text());
        self.write_total(text);
        if let Some(machine) = &self.roofline {
            let dtypes = rows.iter().filter_map(|(_, work)| work.dtype.map(DType::name));
            let _ = writeln!(text, "{}", wrapped(&machine_sentence(machine, dtypes), width).join("\n"));
        }
    }

    fn write_total(&self, text: &mut String) {
        let works = || self.operators.iter().filter(|row| !row.added).map(|row| row.work.as_ref());
        let known: Vec<f64> = works().flatten().filter_map(|work| work.flops).collect();
        let (flops, unknown) = (known.iter().sum::<f64>(), works().count() - known.len());
        if known.is_empty() {
            text.push_str("The operations of no operator are known.\n");
            return;
        }
        let least = if unknown > 0 { "at least " } else { "" };
        let _ = write!(text, "A run computes {least}{} GFLOP", number(flops / 1e9));
        if self.run.median_ns > 0.0 {
            let _ = write!(text, ", {} GFLOP/s at its median", number(flops / self.run.median_ns));
        }
        let _ = match unknown {
            0 => writeln!(text, "."),
            1 => writeln!(text, ". The operations of 1 operator are not known."),
            count => writeln!(text, ". The operations of {count} operators are not known."),
        };
    }
}

/// Returns a sentence on what the machine reaches with numbers of these types.
fn machine_sentence<'d>(machine: &Roofline, dtypes: impl Iterator<Item = &'d str> + Clone) -> String {
    let threads = if machine.threads == 1 { "1 thread".to_owned() } else { format!("{} threads", machine.threads) };
    let peaks = machine.peaks_of(dtypes).map(|peak| format!("{} GFLOP/s of {}", number(peak.gflops_per_s), peak.dtype));
    let ends = [machine.bandwidths.first(), machine.bandwidths.last()];
    let bandwidth = |bandwidth: &Bandwidth| {
        format!("{} GB/s for data of {}", number(bandwidth.gbytes_per_s), shown_size(bandwidth.bytes))
    };
    let all: Vec<_> = peaks.chain(ends.into_iter().flatten().map(bandwidth)).collect();
    format!("With {threads}, this machine reaches {}.", all.join(", "))
}

/// Returns the cells of operations and bytes.
fn numbers(work: &Work) -> [String; 3] {
    [work.flops.map(|flops| flops / 1e9), work.gflops_per_s, work.gbytes_per_s]
        .map(|cell| cell.map_or_else(|| "-".to_owned(), number))
}

fn bound(work: &Work) -> String {
    let bound = work.bound.as_ref();
    bound.map_or_else(|| "-".to_owned(), |bound| format!("{:.0} % {}", bound.percent, bound.limited_by.name()))
}

/// Returns a number with three significant digits.
fn number(number: f64) -> String {
    match number.abs() {
        0.0 => "0".to_owned(),
        size if size >= 100.0 => format!("{number:.0}"),
        size if size >= 10.0 => format!("{number:.1}"),
        size if size >= 1.0 => format!("{number:.2}"),
        size if size >= 0.001 => {
            let digits = 2 - size.log10().floor() as i32;
            format!("{number:.*}", digits.max(0) as usize)
        }
        _ => format!("{number:.1e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::work::Work;
    use super::number;

    #[test]
    fn numbers_have_three_digits() {
        let texts = [0.0, 1234.4, 12.345, 1.2345, 0.12345, 0.0012345, 0.00001].map(number);
        assert_eq!(texts, ["0", "1234", "12.3", "1.23", "0.123", "0.00123", "1.0e-5"]);
    }

    #[test]
    fn the_total_says_at_least_where_operators_are_not_known_and_has_no_rate_without_a_time() {
        let directory = tempfile::tempdir().expect("a directory");
        crate::recording::test_recording::write(directory.path());
        let recording = crate::Recording::open(directory.path()).expect("a recording");
        let mut account = recording.account().expect("an account");
        let mut total = |flops: [Option<f64>; 2], median: f64| {
            for (row, flops) in account.operators.iter_mut().zip(flops) {
                row.work = Some(Work { flops, ..Work::default() });
            }
            account.run.median_ns = median;
            let mut text = String::new();
            account.write_total(&mut text);
            text
        };
        // 3 GFLOP in 2 s.
        assert_eq!(total([Some(1e9), Some(2e9)], 2e9), "A run computes 3.00 GFLOP, 1.50 GFLOP/s at its median.\n");
        assert_eq!(total([Some(1e9), Some(2e9)], 0.0), "A run computes 3.00 GFLOP.\n");
        let least = "A run computes at least 2.00 GFLOP, 1.00 GFLOP/s at its median. The operations of 1 operator are not known.\n";
        assert_eq!(total([None, Some(2e9)], 2e9), least);
        assert_eq!(total([None, None], 2e9), "The operations of no operator are known.\n");
    }
}
