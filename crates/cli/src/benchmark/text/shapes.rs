//! Tables over several shapes.

use opscope::profile::carries_percentile;
use opscope::text::Column::{Beginnings, Numbers};
use opscope::text::{TextTable, shown_number};
use opscope_job::benchmark::{InputSummary, Latency, Measured, Report};

use super::{View, inputs, six};
use crate::options::TextForm;

/// Makes a table with one line per set of shapes: by throughput, the highest first, then the failed ones; `most` rows
/// at most.
pub fn table_of_shapes(report: &Report, view: View, most: usize) -> TextTable {
    let row = |measured: &Measured| Row {
        shapes: inputs(&measured.inputs),
        times: measured.compute,
        throughput: throughput(view, measured.throughput, measured.throughput_at_median),
    };
    let mut rows: Vec<Row> = report.measurements.iter().map(row).collect();
    rows.sort_by(|a, b| b.throughput.total_cmp(&a.throughput));
    let mut table = table(rows.iter().take(most), view);
    for failed in report.failed_shapes.iter().take(most.saturating_sub(rows.len())) {
        let none = || "-".to_owned();
        table.row([failed.shapes.clone(), none(), none(), none(), none(), "failed".to_owned()]);
    }
    table
}

/// Makes a table with one line for each shape of the input files.
pub fn shapes_of_files(measured: &Measured, view: View, most: usize) -> TextTable {
    let row =
        |shapes: &[InputSummary], times: Latency, throughput: f64| Row { shapes: inputs(shapes), times, throughput };
    let rows = measured
        .by_shape
        .iter()
        .map(|shape| row(&shape.inputs, shape.compute, throughput(view, shape.throughput, shape.throughput_at_median)));
    table(rows.collect::<Vec<_>>().iter().take(most), view)
}

struct Row {
    shapes: String,
    times: Latency,
    throughput: f64,
}

/// Returns the throughput that is shown. Other tools compute it from the mean. Where the table shows medians, it is
/// computed from the median.
fn throughput(view: View, of_mean: f64, of_median: f64) -> f64 {
    if view.form == TextForm::OtherTools { of_mean } else { of_median }
}

fn table<'r>(rows: impl Iterator<Item = &'r Row>, view: View) -> TextTable {
    let is_theirs = view.form == TextForm::OtherTools;
    let last = if is_theirs { "throughput" } else { "samples/s" };
    let numbers = ["runs", "mean ms", "median ms", "P99 ms", last].map(Numbers);
    let mut table = TextTable::new([&[Beginnings("shapes")], &numbers[..]].concat()).within(view.width);
    for Row { shapes, times, throughput } in rows {
        let p99 = match is_theirs || carries_percentile(times.count, 99.0) {
            true => six(times.p99),
            false => "-".to_owned(),
        };
        let rate = if is_theirs { format!("{throughput:.2}") } else { shown_number(*throughput) };
        table.row([shapes.clone(), times.count.to_string(), six(times.mean), six(times.median), p99, rate]);
    }
    table
}
