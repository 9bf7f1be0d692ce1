//! The parts of a run's time: a bar for each operator type, and the slowest operators.

use opscope::profile::{Account, OperatorTimes};
use opscope::text::Column::{Middles, Numbers, Words};
use opscope::text::{TextTable, common_path, display_width, shortened, shown_text, shown_time};

use super::LABEL;
use crate::benchmark::text::View;

/// How many operators are named.
const SLOWEST: usize = 3;
/// The most columns of a bar.
const BAR: usize = 40;
/// The most columns of an operator type.
const TYPE: usize = 20;
/// The columns of a share and a time after a bar, with the spaces before them.
const NUMBERS: usize = 22;
/// Shorter common paths are not worth removing.
const SHORT_PATH: usize = 4;

/// Returns the lines. `unprofiled` is the time of a run without the profiler that made the account, in nanoseconds, if
/// known.
pub fn lines(account: &Account, unprofiled: Option<f64>, view: View, room: usize) -> Vec<String> {
    if account.op_types.is_empty() {
        return Vec::new();
    }
    let outside = OutsideTime::of(account, unprofiled);
    let slowest = slowest(account, &outside, view);
    let room = room.saturating_sub(slowest.len());
    let blank = (room > 4).then(String::new);
    let bars = bars(&shares(account, &outside, room - blank.iter().len()), view);
    blank.into_iter().chain(bars).chain(slowest).collect()
}

/// The time of a run in which no operator is executed, without the time that the profiler adds.
struct OutsideTime {
    /// In percent of a run without the profiler.
    percent: f64,
    /// The factor from a share of a profiled run to a share of a run without the profiler.
    factor: f64,
}

impl OutsideTime {
    fn of(account: &Account, unprofiled: Option<f64>) -> Self {
        let run = account.run.median_ns;
        let Some(shares) = account.shares.filter(|_| run > 0.0) else { return Self { percent: 0.0, factor: 1.0 } };
        let outside = shares.between.median_ns + shares.profile.median_ns + shares.in_out.median_ns;
        let added = unprofiled.map_or(shares.profile.median_ns, |unprofiled| run - unprofiled);
        let added = added.clamp(0.0, outside.max(0.0));
        let whole = if added < run { run - added } else { run };
        Self { percent: 100.0 * (outside - added) / whole, factor: run / whole }
    }
}

/// A part of a run's time.
struct TimeShare {
    name: String,
    percent: f64,
    /// The median time in nanoseconds, if it is known.
    median: Option<f64>,
}

/// Returns the operator types by their shares, the largest first, and the rest of a run; `most` parts at most.
fn shares(account: &Account, outside: &OutsideTime, most: usize) -> Vec<TimeShare> {
    let mut parts: Vec<TimeShare> = account
        .op_types
        .iter()
        .map(|row| TimeShare {
            name: if row.added { format!("{} (engine)", row.op_type) } else { row.op_type.clone() },
            percent: row.percent * outside.factor,
            median: Some(row.median_ns),
        })
        .collect();
    parts.sort_by(|a, b| b.percent.total_cmp(&a.percent));
    let between = outside.percent;
    if between >= 0.05 {
        let at = parts.partition_point(|part| part.percent >= between);
        parts.insert(at, TimeShare { name: "(between)".to_owned(), percent: between, median: None });
    }
    if parts.len() > most.max(1) {
        let others = parts.split_off(most.max(1) - 1);
        let percent = others.iter().map(|part| part.percent).sum();
        parts.push(TimeShare { name: format!("{} others", others.len()), percent, median: None });
    }
    parts
}

fn bars(parts: &[TimeShare], view: View) -> Vec<String> {
    let names: Vec<String> = parts.iter().map(|part| shortened(&shown_text(&part.name), TYPE)).collect();
    let label = names.iter().map(|name| display_width(name) + 1).max().unwrap_or(0).max(LABEL);
    let columns = BAR.min(view.width.saturating_sub(label + NUMBERS));
    let longest = parts.iter().map(|part| part.percent).fold(0.0, f64::max);
    let line = |(part, name): (&TimeShare, &String)| {
        let bar = view.bars.draw(part.percent / longest, columns);
        let [after_name, after_bar] =
            [label - display_width(name), columns - display_width(&bar)].map(|n| " ".repeat(n));
        let time = part.median.map(shown_time).unwrap_or_default();
        format!("{name}{after_name}{bar}{after_bar}{:>8.1} %{time:>11}", part.percent)
    };
    parts.iter().zip(&names).map(line).collect()
}

/// Returns the slowest operators, without the path that all of them share.
fn slowest(account: &Account, outside: &OutsideTime, view: View) -> Vec<String> {
    let rows: Vec<&OperatorTimes> = account.operators.iter().take(SLOWEST).collect();
    let names: Vec<&str> = rows.iter().map(|row| row.display_name()).collect();
    let path = Some(common_path(&names)).filter(|path| path.len() >= SHORT_PATH).unwrap_or_default();
    let columns = [Middles(""), Words(""), Numbers(""), Numbers(""), Numbers("")];
    let mut table = TextTable::new(columns).without_titles().within(view.width.saturating_sub(2));
    for (row, name) in rows.iter().zip(&names) {
        let fused = if row.fused.is_empty() { String::new() } else { format!(" +{} fused", row.fused.len()) };
        let peak = row.work.as_ref().and_then(|work| work.bound.as_ref());
        table.row([
            format!("{}{fused}", &name[path.len()..]),
            // If an operator's module is known, its name contains the type.
            match row.origin.as_ref().and_then(|origin| origin.module()) {
                Some(_) => String::new(),
                None if row.added => format!("{} (engine)", row.op_type),
                None => row.op_type.clone(),
            },
            shown_time(row.median_ns),
            format!("{:.1} %", row.percent * outside.factor),
            peak.map(|bound| format!("{:.0} % of {} peak", bound.percent, bound.limited_by.name())).unwrap_or_default(),
        ]);
    }
    let title = match (rows.len(), path) {
        (1, _) => "slowest operator".to_owned(),
        (_, "") => "slowest operators".to_owned(),
        (_, path) => format!("slowest operators, in {}", shown_text(path)),
    };
    [title].into_iter().chain(table.text().lines().map(|line| format!("  {line}"))).collect()
}
