use std::fmt::Write;

use opscope_text::Column::{Beginnings, Ends, Numbers, Words};
use opscope_text::{TextTable, shown_size};

use super::Account;
use crate::recording::Direction;

/// From which ratio of mean to median on a few runs distort what the shares say.
const HELD_UP: f64 = 1.25;

impl Account {
    /// Returns the account as text for a terminal: where the time of a run goes, and the `top` operators, types and
    /// ranges of the user by time.
    pub fn to_text(&self, top: usize) -> String {
        let mut text = String::new();
        self.write_account(&mut text);
        if !self.op_types.is_empty() {
            self.write_types(&mut text, top);
            self.write_operators(&mut text, top);
        }
        if !self.ranges.is_empty() {
            self.write_ranges(&mut text, top);
        }
        text
    }

    fn write_account(&self, text: &mut String) {
        let counts = &self.runs;
        let excluded = [(counts.warm_up, "warm-up"), (counts.failed, "failed"), (counts.partial, "incomplete")];
        let excluded = excluded.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
        let excluded = excluded.collect::<Vec<_>>().join(", ");
        let runs = if counts.measured == 1 { "run" } else { "runs" };
        let _ = write!(text, "Time of a run ({} {runs}, {})", counts.measured, self.fidelity);
        let _ = if excluded.is_empty() { writeln!(text) } else { writeln!(text, "; excluded: {excluded}") };
        if counts.measured == 0 {
            text.push_str("There is no whole run to account for.\n");
            return;
        }
        let mut table = TextTable::new([Words(""), Numbers("mean"), Numbers("median"), Numbers("share"), Words("")]);
        if let Some(shares) = &self.shares {
            let rows = [
                ("operators", shares.operators, format!("{:.0} dispatches a run", shares.dispatches_per_run)),
                ("between operators", shares.between, format!("{:.0} ns per dispatch", shares.between_ns_per_dispatch)),
                ("in and out", shares.in_out, "before and after operators".to_owned()),
            ];
            for (name, share, note) in rows {
                let percent = format!("{:.2} %", share.percent);
                table.row([name.to_owned(), duration(share.mean_ns), duration(share.median_ns), percent, note]);
            }
        }
        let run = &self.run;
        let range = format!("{} to {}", duration(run.min_ns), duration(run.max_ns));
        table.row(["run".to_owned(), duration(run.mean_ns), duration(run.median_ns), "100.00 %".to_owned(), range]);
        for copy in &self.copies {
            let name = if copy.direction == Direction::In.name() { "inputs" } else { "outputs" };
            let note = format!("{:.0} bytes, beside runs", copy.mean_bytes);
            table.row([name.to_owned(), duration(copy.mean_ns), String::new(), String::new(), note]);
        }
        text.push_str(&table.text());
        if let Some(memory) = &self.tensor_memory {
            let _ = writeln!(text, "A run held at most {} for tensors.", shown_size(memory.peak_bytes));
        }
        if run.mean_ns > HELD_UP * run.median_ns {
            let times = run.mean_ns / run.median_ns;
            let _ = writeln!(
                text,
                "The mean is {times:.1} times the median: a few runs were held up, so read the medians."
            );
        }
    }

    fn write_types(&self, text: &mut String, top: usize) {
        let mut table = TextTable::new([
            Ends("operator type"),
            Numbers("count"),
            Numbers("mean"),
            Numbers("median"),
            Numbers("share"),
            Beginnings("kernels"),
        ]);
        for row in self.op_types.iter().take(top) {
            table.row([
                row.op_type.clone(),
                row.operators.to_string(),
                duration(row.mean_ns),
                duration(row.median_ns),
                format!("{:.2} %", row.percent),
                row.kernel_ops.join(", "),
            ]);
        }
        let _ = write!(text, "\nOperator types by time{}\n{}", first_of(top, self.op_types.len()), table.text());
    }

    fn write_operators(&self, text: &mut String, top: usize) {
        let mut table = TextTable::new([
            Ends("operator"),
            Ends("type"),
            Numbers("mean"),
            Numbers("median"),
            Numbers("share"),
            Beginnings("kernels"),
        ]);
        for row in self.operators.iter().take(top) {
            let fused = match row.fused.len() {
                0 => String::new(),
                count => format!(" +{count} fused"),
            };
            table.row([
                format!("{}{fused}", row.operator),
                row.op_type.clone(),
                duration(row.mean_ns),
                duration(row.median_ns),
                format!("{:.2} %", row.percent),
                row.kernel_ops.join(", "),
            ]);
        }
        let _ = write!(text, "\nOperators by time{}\n{}", first_of(top, self.operators.len()), table.text());
    }

    fn write_ranges(&self, text: &mut String, top: usize) {
        let columns = [Ends("range"), Numbers("count"), Numbers("mean"), Numbers("median"), Numbers("total")];
        let mut table = TextTable::new(columns);
        for row in self.ranges.iter().take(top) {
            let times = [row.mean_ns, row.median_ns, row.total_ns].map(duration);
            let [mean, median, total] = times;
            table.row([row.range.clone(), row.count.to_string(), mean, median, total]);
        }
        let _ = write!(text, "\nUser ranges by time{}\n{}", first_of(top, self.ranges.len()), table.text());
    }
}

fn first_of(top: usize, all: usize) -> String {
    if top < all { format!(" (the first {top} of {all})") } else { String::new() }
}

/// Nanoseconds in the unit that leaves one to three digits before the point.
fn duration(nanos: f64) -> String {
    match nanos {
        nanos if nanos >= 1e9 => format!("{:.3} s", nanos / 1e9),
        nanos if nanos >= 1e6 => format!("{:.3} ms", nanos / 1e6),
        nanos if nanos >= 1e3 => format!("{:.3} µs", nanos / 1e3),
        nanos => format!("{nanos:.0} ns"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_unit_that_fits() {
        let texts = [999.4, 1_000.0, 1_234_567.0, 2.5e9].map(duration);
        assert_eq!(texts, ["999 ns", "1.000 µs", "1.235 ms", "2.500 s"]);
    }
}
