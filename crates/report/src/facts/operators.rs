//! The operators of a run, by time.

use opscope_onnx::CodeOrigin;
use opscope_profile::{Account, TypeTimes, carries_percentile};

use crate::source::{SavedOperator, SavedType};

/// How many rows the table of operators has at most; a page says how many more there are.
const MOST_ROWS: usize = 1_000;

/// The operators by time, those with the most time first.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Operators {
    /// The rows.
    pub rows: Vec<OperatorRow>,
    /// How many operators have no row.
    pub left: usize,
}

/// The time of an operator. A fused kernel's time counts for the first of its operators. Times are nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OperatorRow {
    /// Its name in the file; the engine's name for a kernel that the engine added.
    pub name: String,
    /// Its origin in the program that the file was exported from, if the file says so.
    pub origin: Option<CodeOrigin>,
    /// Its type.
    pub op_type: String,
    /// Whether the engine added it.
    pub added: bool,
    /// The names of the engine's operators that execute it.
    pub kernels: Vec<String>,
    /// The other operators that its kernels execute.
    pub fused: Vec<String>,
    /// Whether the engine itself states that these kernels are this operator.
    pub exact: bool,
    /// The number of dispatches of all runs.
    pub dispatches: u64,
    /// The total time of all runs.
    pub total: f64,
    /// The mean per run.
    pub mean: f64,
    /// The median of the runs in which it was executed.
    pub median: f64,
    /// The 90th percentile of the same; `None` in a summary of an earlier version, or if there are too few runs.
    pub p90: Option<f64>,
    /// The 99th percentile of the same.
    pub p99: Option<f64>,
    /// Its share of a run that takes the median time.
    pub percent: f64,
}

impl OperatorRow {
    /// Returns its name for people: `layers.0.c1 (Conv)` if the file says which module it is in, else its name.
    pub(crate) fn display_name(&self) -> &str {
        self.origin.as_ref().map_or(&self.name, |origin| &origin.display_name)
    }
}

/// The time of all operators of a type. Times are nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TypeRow {
    /// The type; the engine's name for kernels that the engine added.
    pub op_type: String,
    /// Whether the engine added them.
    pub added: bool,
    /// How many operators of this type were executed.
    pub operators: u64,
    /// The median of the runs in which one was executed.
    pub median: f64,
    /// Their share of a run that takes the median time.
    pub percent: f64,
}

impl TypeRow {
    /// Returns the types of an account.
    pub(crate) fn of_account(account: &Account) -> Vec<Self> {
        let row = |row: &TypeTimes| Self {
            op_type: row.op_type.clone(),
            added: row.added,
            operators: row.operators,
            median: row.median_ns,
            percent: row.percent,
        };
        account.op_types.iter().map(row).collect()
    }

    /// Returns the types of a summary.
    pub(crate) fn of_summary(types: &[SavedType]) -> Vec<Self> {
        let row = |row: &SavedType| Self {
            op_type: row.op_type.clone(),
            added: row.added,
            operators: row.operators,
            median: row.median_ns,
            percent: row.percent,
        };
        types.iter().map(row).collect()
    }
}

impl Operators {
    /// Returns the operators of an account.
    pub(crate) fn of_account(account: &Account) -> Self {
        let runs = usize::try_from(account.runs.measured).unwrap_or(usize::MAX);
        let carried = |percent, time| Some(time).filter(|_| carries_percentile(runs, percent));
        let rows = account.operators.iter().map(|operator| OperatorRow {
            name: operator.operator.clone(),
            origin: operator.origin.clone(),
            op_type: operator.op_type.clone(),
            added: operator.added,
            kernels: operator.kernel_ops.clone(),
            fused: operator.fused.clone(),
            exact: operator.exact,
            dispatches: operator.dispatches,
            total: operator.total_ns,
            mean: operator.mean_ns,
            median: operator.median_ns,
            p90: carried(90.0, operator.p90_ns),
            p99: carried(99.0, operator.p99_ns),
            percent: operator.percent,
        });
        Self::first(rows.collect())
    }

    /// Returns the operators of a summary.
    pub(crate) fn of_summary(operators: &[SavedOperator]) -> Self {
        let rows = operators.iter().map(|operator| OperatorRow {
            name: operator.operator.clone(),
            origin: operator.origin.clone(),
            op_type: operator.op_type.clone(),
            added: operator.added,
            kernels: operator.kernel_ops.clone(),
            fused: operator.fused.clone(),
            exact: operator.exact,
            dispatches: operator.dispatches,
            total: operator.total_ns,
            mean: operator.mean_ns,
            median: operator.median_ns,
            p90: operator.p90_ns,
            p99: operator.p99_ns,
            percent: operator.percent,
        });
        let mut rows: Vec<OperatorRow> = rows.collect();
        rows.sort_by(|a, b| b.median.total_cmp(&a.median));
        Self::first(rows)
    }

    fn first(mut rows: Vec<OperatorRow>) -> Self {
        let left = rows.len().saturating_sub(MOST_ROWS);
        rows.truncate(MOST_ROWS);
        Self { rows, left }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: String, median: f64) -> SavedOperator {
        let text = format!(
            "{{\"operator\": \"{name}\", \"op_type\": \"Add\", \"dispatches\": 3, \"total_ns\": 1, \"mean_ns\": 2, \"median_ns\": {median}, \"percent\": 4}}"
        );
        serde_json::from_str(&text).expect("an operator of a summary")
    }

    #[test]
    fn the_operators_of_a_summary_are_sorted_and_a_thousand_have_rows() {
        let few = Operators::of_summary(&[1.0, 3.0, 2.0].map(|median| row(format!("/{median}"), median)));
        let names: Vec<&str> = few.rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!((names, few.left), (vec!["/3", "/2", "/1"], 0));
        let of = |number: u32| {
            let rows: Vec<SavedOperator> =
                (0..number).map(|index| row(format!("/{index}"), f64::from(index))).collect();
            let operators = Operators::of_summary(&rows);
            (operators.rows.len(), operators.left)
        };
        assert_eq!([999, 1_000, 1_003].map(of), [(999, 0), (1_000, 0), (1_000, 3)]);
    }
}
