use std::fmt::Write;

use opscope_text::Column::{Beginnings, Ends, Numbers, Words};
use opscope_text::{TextTable, shown_duration as duration, shown_size};

use super::{Account, DeviceTimes, Shares, UntimedRuns};
use crate::recording::Direction;

/// The ratio of mean to median above which the account says that a few slow runs distort the shares.
const HELD_UP: f64 = 1.25;

/// The row of kernels that the engine added, which is shown only if there are any.
const ADDED: &str = "added by the engine";

/// The row of the cost of taking times, which is shown only if it was measured.
const PROFILE: &str = "engine's profile";
/// The row of the time that belongs to no part.
const REST: &str = "rest";

impl Account {
    /// Returns the account as text for a terminal: where the time of a run goes, and the `top` operators, types and
    /// user's ranges by median time. Lines have at most 80 columns.
    pub fn to_text(&self, top: usize) -> String {
        self.to_text_within(top, 80)
    }

    /// Returns the same text for a terminal of `width` columns.
    pub fn to_text_within(&self, top: usize, width: usize) -> String {
        let mut text = String::new();
        self.write_account(&mut text);
        self.devices.iter().for_each(|device| write_device(device, &mut text));
        if !self.op_types.is_empty() {
            self.write_types(&mut text, top, width);
            self.write_operators(&mut text, top, width);
            self.write_work(&mut text, top, width);
        }
        if !self.ranges.is_empty() {
            self.write_ranges(&mut text, top, width);
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
            let precision = self.precision();
            let between = match self.time_resolution_ns {
                0 | 1 => format!("{:.0} ns per dispatch", shares.between_ns_per_dispatch),
                _ => format!("{} per dispatch", precision.duration(shares.between_ns_per_dispatch)),
            };
            let rows = [
                ("operators", shares.operators, format!("{:.0} dispatches a run", shares.dispatches_per_run)),
                (ADDED, shares.added, "kernels of no operator".to_owned()),
                ("between operators", shares.between, between),
                (PROFILE, shares.profile, self.untimed.map(|untimed| untimed.note()).unwrap_or_default()),
                ("in and out", shares.in_out, "before and after operators".to_owned()),
                (REST, shares.rest, "in none of these parts, or in two".to_owned()),
            ];
            let is_there = |name: &str| match name {
                ADDED => shares.added.total_ns > 0.0,
                PROFILE => self.untimed.is_some(),
                // The rest is shown only if it affects the last digit of a share.
                REST => shares.rest.percent.abs() >= 0.005,
                _ => true,
            };
            for (name, share, note) in rows.into_iter().filter(|(name, ..)| is_there(name)) {
                let [mean, median] = [share.mean_ns, share.median_ns].map(|nanos| precision.duration(nanos));
                // The shares of operators below are also those of medians.
                let part = if self.run.median_ns > 0.0 { 100.0 * share.median_ns / self.run.median_ns } else { 0.0 };
                table.row([name.to_owned(), mean, median, precision.percent(part), note]);
            }
        }
        let run = &self.run;
        let range = format!("{} to {}", duration(run.min_ns), duration(run.max_ns));
        table.row(["run".to_owned(), duration(run.mean_ns), duration(run.median_ns), "100.00 %".to_owned(), range]);
        for copy in &self.copies {
            let name = if copy.direction == Direction::In.name() { "copy in" } else { "copy out" };
            let note = format!("{:.0} bytes, beside runs", copy.mean_bytes);
            table.row([name.to_owned(), duration(copy.mean_ns), String::new(), String::new(), note]);
        }
        if let Some(profile) = &self.engine_profile {
            let note = "by the engine, beside runs".to_owned();
            table.row(["profile".to_owned(), duration(profile.mean_ns), String::new(), String::new(), note]);
        }
        text.push_str(&table.text());
        if self.shares.is_some() && self.time_resolution_ns > 1 {
            let resolution = self.precision().duration(self.time_resolution_ns as f64);
            let _ = writeln!(text, "The engine's times of operators have a resolution of {resolution}.");
        }
        if let Some(rest) = self.shares.map(|shares| shares.rest.percent).filter(|rest| rest.abs() > Shares::MOST_REST)
        {
            let _ = writeln!(text, "The parts miss the whole by {rest:.1} %: the engine's times contradict the runs'.");
        }
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

    fn write_types(&self, text: &mut String, top: usize, width: usize) {
        let mut table = TextTable::new([
            Ends("operator type"),
            Numbers("count"),
            Numbers("mean"),
            Numbers("median"),
            Numbers("share"),
            Beginnings("kernels"),
        ])
        .within(width);
        let precision = self.precision();
        for row in self.op_types.iter().take(top) {
            table.row([
                marked(row.op_type.clone(), row.added),
                if row.added { String::new() } else { row.operators.to_string() },
                precision.duration(row.mean_ns),
                precision.duration(row.median_ns),
                precision.percent(row.percent),
                row.kernel_ops.join(", "),
            ]);
        }
        let _ = write!(text, "\nOperator types by time{}\n{}", first_of(top, self.op_types.len()), table.text());
    }

    fn write_operators(&self, text: &mut String, top: usize, width: usize) {
        let mut table = TextTable::new([
            Ends("operator"),
            Ends("type"),
            Numbers("mean"),
            Numbers("median"),
            Numbers("share"),
            Beginnings("kernels"),
        ])
        .within(width);
        let precision = self.precision();
        for row in self.operators.iter().take(top) {
            let fused = match row.fused.len() {
                0 => String::new(),
                count => format!(" +{count} fused"),
            };
            table.row([
                marked(format!("{}{fused}", row.display_name()), row.added),
                row.op_type.clone(),
                precision.duration(row.mean_ns),
                precision.duration(row.median_ns),
                precision.percent(row.percent),
                row.kernel_ops.join(", "),
            ]);
        }
        let _ = write!(text, "\nOperators by time{}\n{}", first_of(top, self.operators.len()), table.text());
    }

    fn write_ranges(&self, text: &mut String, top: usize, width: usize) {
        let columns = [Ends("range"), Numbers("count"), Numbers("mean"), Numbers("median"), Numbers("total")];
        let mut table = TextTable::new(columns).within(width);
        for row in self.ranges.iter().take(top) {
            let times = [row.mean_ns, row.median_ns, row.total_ns].map(duration);
            let [mean, median, total] = times;
            table.row([row.range.clone(), row.count.to_string(), mean, median, total]);
        }
        let _ = write!(text, "\nUser ranges by time{}\n{}", first_of(top, self.ranges.len()), table.text());
    }
}

impl UntimedRuns {
    fn note(self) -> String {
        let runs = if self.count == 1 { "run" } else { "runs" };
        format!("{} {runs} without: {}", self.count, duration(self.median_ns))
    }
}

/// The precision with which the times of kernels are printed, which is not finer than their resolution.
struct Precision {
    /// The resolution of one time, in nanoseconds.
    nanos: f64,
    /// The share of a run that this resolution is, in percent; 0 if the times are as fine as the clock.
    percent: f64,
}

impl Account {
    fn precision(&self) -> Precision {
        let nanos = self.time_resolution_ns as f64;
        let is_clock = self.time_resolution_ns <= 1 || self.run.mean_ns <= 0.0;
        Precision { nanos, percent: if is_clock { 0.0 } else { 100.0 * nanos / self.run.mean_ns } }
    }
}

impl Precision {
    fn percent(&self, percent: f64) -> String {
        let digits = [0.01, 0.1].iter().filter(|step| self.percent <= **step).count();
        format!("{percent:.digits$} %")
    }

    fn duration(&self, nanos: f64) -> String {
        const UNITS: [(f64, &str); 4] = [(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")];
        if self.nanos <= 1.0 {
            return duration(nanos);
        }
        if nanos > 0.0 && nanos < self.nanos {
            return format!("< {}", self.duration(self.nanos));
        }
        let fits = UNITS.iter().find(|(unit, _)| nanos.max(self.nanos) >= *unit);
        let (unit, name) = fits.copied().unwrap_or((1.0, "ns"));
        let digits = ((unit / self.nanos).log10().floor().max(0.0) as usize).min(3);
        format!("{:.digits$} {name}", nanos / unit)
    }
}

/// Adds what a device did.
fn write_device(device: &DeviceTimes, text: &mut String) {
    let mut table = TextTable::new([Words(""), Numbers("mean"), Numbers("median"), Numbers("share"), Words("")]);
    let rows = [
        ("busy", device.busy, "kernels compute"),
        ("communication", device.communication, "between devices, nothing computes"),
        ("copies", device.copies, "memory is copied or set"),
        ("gaps", device.gaps, "the next kernel is launched, and waits"),
        ("host-bound", device.host_bound, "the host has not launched the next one"),
        ("idle", device.idle, "nothing follows in the run"),
    ];
    for (name, share, note) in rows.into_iter().filter(|(_, share, _)| share.total_ns > 0.0) {
        let percent = format!("{:.2} %", share.percent);
        table.row([name.to_owned(), duration(share.mean_ns), duration(share.median_ns), percent, note.to_owned()]);
    }
    let model = if device.model.is_empty() { String::new() } else { format!(", {}", device.model) };
    let launch = device.launch_median_ns.map(|nanos| format!("; from launch to kernel {}", duration(nanos)));
    let _ = write!(text, "\n{}{model}{}\n{}", device.device, launch.unwrap_or_default(), table.text());
}

/// Returns a name, with a mark if it belongs to a kernel that the engine added.
fn marked(name: String, added: bool) -> String {
    if added { format!("{name} (engine)") } else { name }
}

pub(super) fn first_of(top: usize, all: usize) -> String {
    if top < all { format!(" (the first {top} of {all})") } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_printed_no_finer_than_the_engine_takes_them() {
        let coarse = Precision { nanos: 1_000.0, percent: 0.02 };
        let texts = [0.0, 400.0, 1_600.0, 1_234_567.0, 2.5e9].map(|nanos| coarse.duration(nanos));
        assert_eq!(texts, ["0 µs", "< 1 µs", "2 µs", "1.235 ms", "2.500 s"]);
        let percents = [0.0, 0.01, 0.02, 0.5].map(|percent| Precision { nanos: 1_000.0, percent }.percent(12.345));
        assert_eq!(percents, ["12.35 %", "12.35 %", "12.3 %", "12 %"]);
        let halves = Precision { nanos: 100_000.0, percent: 0.0 }.duration(1_234_567.0);
        assert_eq!(halves, "1.2 ms");
    }

    fn account() -> Account {
        let directory = tempfile::tempdir().expect("a directory");
        crate::recording::test_recording::write(directory.path());
        crate::Recording::open(directory.path()).and_then(|recording| recording.account()).expect("an account")
    }

    #[test]
    fn the_precision_is_what_a_time_is_of_a_run_unless_times_are_as_fine_as_the_clock() {
        let mut account = account();
        assert_eq!(account.run.mean_ns, 3_200.0);
        for (resolution, percent) in [(0, 0.0), (1, 0.0), (2, 0.0625), (800, 25.0)] {
            account.time_resolution_ns = resolution;
            let precision = account.precision();
            assert_eq!((precision.nanos, precision.percent), (resolution as f64, percent), "{resolution} ns");
        }
        account.run.mean_ns = 0.0;
        assert_eq!(account.precision().percent, 0.0, "of a run without time nothing can be told");
    }

    #[test]
    fn parts_that_are_not_there_have_no_rows() {
        let mut account = account();
        let has = |account: &Account, name: &str| account.to_text(9).contains(name);
        assert!(has(&account, "between operators") && !has(&account, ADDED) && !has(&account, REST));
        let shares = account.shares.as_mut().expect("dispatches were recorded");
        shares.added.total_ns = 5.0;
        shares.rest.percent = -0.005;
        assert!(has(&account, ADDED) && has(&account, REST));
        account.shares.as_mut().expect("they are there").rest.percent = 0.0049;
        assert!(has(&account, ADDED) && !has(&account, REST));
    }
}
