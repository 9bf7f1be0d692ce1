use std::fmt::Write;

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table, TableComponent};

use super::Account;
use crate::recording::Direction;

/// From which ratio of mean to median on a few runs distort what the shares say.
const HELD_UP: f64 = 1.25;

impl Account {
    /// The account as text for a terminal: where the time of a run goes, and the `top` operators and types by time.
    pub fn to_text(&self, top: usize) -> String {
        let mut text = String::new();
        self.write_account(&mut text);
        if !self.op_types.is_empty() {
            self.write_types(&mut text, top);
            self.write_operators(&mut text, top);
        }
        text
    }

    fn write_account(&self, text: &mut String) {
        let counts = &self.runs;
        let left_out = [
            (counts.warm_up, "that warmed up"),
            (counts.failed, "that failed"),
            (counts.partial, "of which records are missing"),
        ];
        let left_out = left_out.iter().filter(|(count, _)| *count > 0).map(|(count, why)| format!("{count} {why}"));
        let left_out = left_out.collect::<Vec<_>>().join(", ");
        let _ = write!(text, "Time of a run ({} runs, {})", counts.measured, self.fidelity);
        let _ = if left_out.is_empty() { writeln!(text) } else { writeln!(text, "; left out: {left_out}") };
        if counts.measured == 0 {
            text.push_str("There is no whole run to account for.\n");
            return;
        }
        let mut table = table(&["", "mean", "median", "share", ""], &[1, 2, 3]);
        if let Some(shares) = &self.shares {
            let rows = [
                ("operators", shares.operators, format!("{:.0} dispatches a run", shares.dispatches_per_run)),
                ("between operators", shares.between, format!("{:.0} ns per dispatch", shares.between_ns_per_dispatch)),
                ("in and out", shares.in_out, "before the first operator and after the last".to_owned()),
            ];
            for (name, share, note) in rows {
                let percent = format!("{:.2} %", share.percent);
                table.add_row([name.to_owned(), duration(share.mean_ns), duration(share.median_ns), percent, note]);
            }
        }
        let run = &self.run;
        let range = format!("{} to {}", duration(run.min_ns), duration(run.max_ns));
        table.add_row(["run".to_owned(), duration(run.mean_ns), duration(run.median_ns), "100.00 %".to_owned(), range]);
        for copy in &self.copies {
            let name =
                if copy.direction == Direction::In.name() { "inputs to the engine" } else { "outputs from the engine" };
            let note = format!("{:.0} bytes, outside of the run's time", copy.mean_bytes);
            table.add_row([name.to_owned(), duration(copy.mean_ns), String::new(), String::new(), note]);
        }
        let _ = writeln!(text, "{table}");
        if run.mean_ns > HELD_UP * run.median_ns {
            let times = run.mean_ns / run.median_ns;
            let _ = writeln!(
                text,
                "The mean is {times:.1} times the median: a few runs were held up, so read the medians, not the shares."
            );
        }
    }

    fn write_types(&self, text: &mut String, top: usize) {
        let mut table =
            table(&["operator type", "operators", "mean", "median", "share", "engine's kernels"], &[1, 2, 3, 4]);
        for row in self.op_types.iter().take(top) {
            table.add_row([
                printable(&row.op_type),
                row.operators.to_string(),
                duration(row.mean_ns),
                duration(row.median_ns),
                format!("{:.2} %", row.percent),
                first(&printable(&row.kernel_ops.join(", ")), 60),
            ]);
        }
        let _ = writeln!(text, "\nOperator types by time{}\n{table}", shown(top, self.op_types.len()));
    }

    fn write_operators(&self, text: &mut String, top: usize) {
        let mut table = table(&["operator", "type", "mean", "median", "share", "engine's kernels"], &[2, 3, 4]);
        for row in self.operators.iter().take(top) {
            let fused = match row.fused.len() {
                0 => String::new(),
                count => format!(" +{count} fused"),
            };
            table.add_row([
                format!("{}{fused}", last(&printable(&row.operator), 60)),
                printable(&row.op_type),
                duration(row.mean_ns),
                duration(row.median_ns),
                format!("{:.2} %", row.percent),
                first(&printable(&row.kernel_ops.join(", ")), 40),
            ]);
        }
        let _ = writeln!(text, "\nOperators by time{}\n{table}", shown(top, self.operators.len()));
    }
}

fn table(columns: &[&str], numbers: &[usize]) -> Table {
    let mut table = Table::new();
    table
        .load_preset(NOTHING)
        .set_style(TableComponent::HeaderLines, '─')
        .set_style(TableComponent::MiddleHeaderIntersections, '─')
        .set_header(columns);
    for &column in numbers {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// A name without what would move a terminal's cursor: names come from a file.
fn printable(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// The first characters of a text that is too long for a column.
fn first(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some(_) => text.chars().take(most - 1).chain(['…']).collect(),
        None => text.to_owned(),
    }
}

/// The last characters of a name that is too long for a column: the end of a path tells operators apart.
fn last(name: &str, most: usize) -> String {
    let length = name.chars().count();
    if length <= most {
        name.to_owned()
    } else {
        ['…'].into_iter().chain(name.chars().skip(length + 1 - most)).collect()
    }
}

fn shown(top: usize, all: usize) -> String {
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
    fn what_is_too_long_for_a_column_is_cut_and_marked() {
        assert_eq!((first("abcd", 4), first("abcde", 4)), ("abcd".to_owned(), "abc…".to_owned()));
        assert_eq!((last("äbcd", 4), last("xäbcd", 4)), ("äbcd".to_owned(), "…bcd".to_owned()));
    }

    #[test]
    fn times_have_the_unit_that_fits() {
        let texts = [999.4, 1_000.0, 1_234_567.0, 2.5e9].map(duration);
        assert_eq!(texts, ["999 ns", "1.000 µs", "1.235 ms", "2.500 s"]);
    }
}
