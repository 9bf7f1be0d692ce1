use std::collections::{BTreeSet, HashMap};

use super::histogram::{Histogram, TimeHistogram};
use super::series::Series;
use super::work::{Work, WorkSums};
use super::{OperatorTimes, TypeTimes, percent};
use crate::recording::{DispatchFact, KernelCost, KernelNames};
use crate::{MedianEstimate, Recording};

/// The running sums of the tables of operators and of types.
#[derive(Default)]
pub(super) struct Rows {
    operators: Table<OperatorTimes>,
    types: Table<TypeTimes>,
    /// The rows that a kernel's time counts for.
    kernels: HashMap<(u64, u32), KernelRows>,
    names_of_type: HashMap<usize, BTreeSet<String>>,
}

/// The rows for which the time and the cost of a kernel count.
struct KernelRows {
    operator: usize,
    op_type: usize,
    cost: Option<KernelCost>,
}

/// The finished tables, and the histogram of each operator's times, in the same order.
pub(super) struct Tables {
    pub operators: Vec<OperatorTimes>,
    pub op_types: Vec<TypeTimes>,
    pub histograms: Vec<TimeHistogram>,
}

struct Table<T> {
    rows: Vec<Row<T>>,
    /// The rows by name. Kernels that the engine added have rows of their own, even if their name is that of an
    /// operator or a type.
    by_name: HashMap<(bool, String), usize>,
}

struct Row<T> {
    shown: T,
    dispatches: u64,
    total: f64,
    /// The time in the run that is being added.
    this_run: f64,
    of_runs: Histogram,
    work: WorkSums,
}

impl Rows {
    /// Adds the dispatches of a run that counts, with the time of each in nanoseconds.
    pub(super) fn add(&mut self, recording: &Recording, dispatches: &[DispatchFact], times: &[f64]) {
        for (dispatch, &nanos) in dispatches.iter().zip(times) {
            let key = (dispatch.plan, dispatch.kernel);
            if !self.kernels.contains_key(&key) {
                let rows = self.rows_of(recording, key);
                self.kernels.insert(key, rows);
            }
            let KernelRows { operator, op_type, cost } = &self.kernels[&key];
            self.operators.rows[*operator].add(nanos, cost.as_ref());
            self.types.rows[*op_type].add(nanos, cost.as_ref());
        }
        self.operators.end_run();
        self.types.end_run();
    }

    fn rows_of(&mut self, recording: &Recording, (plan, kernel): (u64, u32)) -> KernelRows {
        let unknown;
        let names = match recording.kernel(plan, kernel) {
            Some(names) => names,
            None => {
                unknown = KernelNames::unknown(plan, kernel);
                &unknown
            }
        };
        let operator = self.operators.row((names.added, &names.operator), || OperatorTimes {
            operator: names.operator.clone(),
            origin: names.origin.clone(),
            op_type: names.op_type.clone(),
            added: names.added,
            kernel_ops: Vec::new(),
            fused: Vec::new(),
            exact: true,
            dispatches: 0,
            total_ns: 0.0,
            mean_ns: 0.0,
            median_ns: 0.0,
            median_interval_95_ns: None,
            p90_ns: 0.0,
            p99_ns: 0.0,
            percent: 0.0,
            work: None,
        });
        let row = &mut self.operators.rows[operator].shown;
        row.exact &= names.exact;
        add_new(&mut row.kernel_ops, &names.op);
        names.fused.iter().for_each(|fused| add_new(&mut row.fused, &fused.name));
        let op_type = self.types.row((names.added, &names.op_type), || TypeTimes {
            op_type: names.op_type.clone(),
            added: names.added,
            operators: 0,
            kernel_ops: Vec::new(),
            dispatches: 0,
            total_ns: 0.0,
            mean_ns: 0.0,
            median_ns: 0.0,
            median_interval_95_ns: None,
            percent: 0.0,
            work: None,
        });
        add_new(&mut self.types.rows[op_type].shown.kernel_ops, &names.op);
        if !names.added {
            self.names_of_type.entry(op_type).or_default().insert(names.operator.clone());
        }
        KernelRows { operator, op_type, cost: names.cost.clone() }
    }

    /// Returns the tables, sorted by median time. `runs` is the number of runs that were added, `run_median` the median
    /// of their times, and `series` their single times.
    pub(super) fn finish(self, runs: usize, run_median: f64, series: &Series) -> Tables {
        let names_of_type = self.names_of_type;
        let mut of_operators: HashMap<(bool, &str), Vec<_>> = HashMap::new();
        let mut of_types: HashMap<(bool, &str), Vec<_>> = HashMap::new();
        for one in &series.operators {
            of_operators.entry((one.added, &one.operator)).or_default().push(one);
            of_types.entry((one.added, &one.op_type)).or_default().push(one);
        }
        let estimate = |of: &HashMap<_, Vec<_>>, key: (bool, &str)| series.estimate(of.get(&key)?.iter().copied());
        let operators = self.operators.finish(|_, row| {
            let estimated = estimate(&of_operators, (row.shown.added, &row.shown.operator));
            let median = row.median(estimated);
            // Percentiles are known to within 1 %.
            let p90 = row.of_runs.percentile(90.0).max(median);
            let times = OperatorTimes {
                dispatches: row.dispatches,
                total_ns: row.total,
                mean_ns: row.total / runs as f64,
                median_ns: median,
                median_interval_95_ns: estimated.and_then(|estimated| estimated.interval),
                p90_ns: p90,
                p99_ns: row.of_runs.percentile(99.0).max(p90),
                percent: percent(median * row.of_runs.count() as f64 / runs.max(1) as f64, run_median),
                work: row.work(runs, median),
                ..row.shown
            };
            (times, row.of_runs.bins())
        });
        let operators = by_median(operators, |(row, _)| (row.median_ns, row.total_ns));
        let (operators, histograms) = operators.into_iter().unzip();
        let op_types = self.types.finish(|index, row| {
            let estimated = estimate(&of_types, (row.shown.added, &row.shown.op_type));
            let median = row.median(estimated);
            TypeTimes {
                operators: names_of_type.get(&index).map_or(0, |names| names.len() as u64),
                dispatches: row.dispatches,
                total_ns: row.total,
                mean_ns: row.total / runs as f64,
                median_ns: median,
                median_interval_95_ns: estimated.and_then(|estimated| estimated.interval),
                percent: percent(median * row.of_runs.count() as f64 / runs.max(1) as f64, run_median),
                work: row.work(runs, median),
                ..row.shown
            }
        });
        let op_types = by_median(op_types, |row| (row.median_ns, row.total_ns));
        Tables { operators, op_types, histograms }
    }
}

impl<T> Table<T> {
    fn row(&mut self, (added, name): (bool, &str), new: impl FnOnce() -> T) -> usize {
        let key = (added, name.to_owned());
        if let Some(&row) = self.by_name.get(&key) {
            return row;
        }
        self.by_name.insert(key, self.rows.len());
        self.rows.push(Row {
            shown: new(),
            dispatches: 0,
            total: 0.0,
            this_run: 0.0,
            of_runs: Histogram::default(),
            work: WorkSums::default(),
        });
        self.rows.len() - 1
    }

    fn end_run(&mut self) {
        for row in self.rows.iter_mut().filter(|row| row.this_run > 0.0) {
            row.of_runs.add(row.this_run);
            row.this_run = 0.0;
            row.work.end_run();
        }
    }

    fn finish<S>(self, mut shown: impl FnMut(usize, Row<T>) -> S) -> Vec<S> {
        self.rows.into_iter().enumerate().map(|(index, row)| shown(index, row)).collect()
    }
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { rows: Vec::new(), by_name: HashMap::new() }
    }
}

impl<T> Row<T> {
    fn add(&mut self, nanos: f64, cost: Option<&KernelCost>) {
        self.dispatches += 1;
        self.total += nanos;
        self.this_run += nanos;
        if let Some(cost) = cost {
            self.work.add(cost);
        }
    }

    /// Returns the median over the runs. It is accurate to within 1 % if no run that executed it was kept.
    fn median(&self, estimate: Option<MedianEstimate>) -> f64 {
        estimate.map_or_else(|| self.of_runs.median(), |estimate| estimate.median)
    }

    /// Returns the work. If every run did the same work, the rates are those of the median time.
    fn work(&self, runs: usize, median: f64) -> Option<Work> {
        let nanos = match self.work.is_same_in_all_runs() && self.of_runs.count() == runs as u64 {
            true => median,
            false => self.total / runs as f64,
        };
        self.work.is_known().then(|| Work::new(&self.work, runs, nanos))
    }
}

/// Sorts rows by the median, the longest first, and equal ones by the total. A few slow runs do not affect the median.
fn by_median<T>(mut rows: Vec<T>, median_and_total: impl Fn(&T) -> (f64, f64)) -> Vec<T> {
    rows.sort_by(|a, b| {
        let ((a, a_total), (b, b_total)) = (median_and_total(a), median_and_total(b));
        b.total_cmp(&a).then(b_total.total_cmp(&a_total))
    });
    rows
}

fn add_new(list: &mut Vec<String>, text: &str) {
    if !list.iter().any(|known| known == text) {
        list.push(text.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use opscope_tensor::DType;

    use super::*;

    /// Returns the work of a row that was executed in runs with these times and operations, out of `runs` runs.
    fn work_of(executed: &[(f64, u64)], runs: usize, median: f64) -> Work {
        let mut table = Table::default();
        for &(nanos, flops) in executed {
            let row = table.row((false, "op"), || ());
            let cost = KernelCost {
                flops: Some(flops),
                bytes_read: Some(3_000),
                bytes_written: Some(1_000),
                dtype: Some(DType::F32),
            };
            table.rows[row].add(nanos, Some(&cost));
            table.end_run();
        }
        table.rows[0].work(runs, median).expect("there are costs")
    }

    #[test]
    fn work_takes_the_median_time_if_every_run_did_the_same_and_the_mean_time_of_all_runs_otherwise() {
        // 400 operations and 4000 bytes in 200 ns.
        let same = work_of(&[(100.0, 400), (200.0, 400), (900.0, 400)], 3, 200.0);
        assert_eq!((same.nanos, same.flops, same.bytes()), (200.0, Some(400.0), Some(4_000.0)));
        assert_eq!((same.gflops_per_s, same.gbytes_per_s, same.flops_per_byte), (Some(2.0), Some(20.0), Some(0.1)));
        // Executed in two of four runs: each run counts for a quarter of 300 ns, 800 operations and 8000 bytes.
        let seldom = work_of(&[(100.0, 400), (200.0, 400)], 4, 150.0);
        assert_eq!((seldom.nanos, seldom.flops, seldom.executions), (75.0, Some(200.0), 0.5));
        assert_eq!((seldom.gflops_per_s, seldom.flops_per_byte), (Some(200.0 / 75.0), Some(0.1)));
        // Executed in every run, with another number of operations in one of them.
        let varying = work_of(&[(100.0, 400), (300.0, 1_200)], 2, 150.0);
        assert_eq!((varying.nanos, varying.flops, varying.gflops_per_s), (200.0, Some(800.0), Some(4.0)));
        let seldom_and_varying = work_of(&[(100.0, 400), (300.0, 1_200)], 4, 150.0);
        assert_eq!((seldom_and_varying.nanos, seldom_and_varying.flops), (100.0, Some(400.0)));
    }
}
