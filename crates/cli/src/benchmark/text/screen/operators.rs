//! Where the time of a run goes: a bar for each operator type, and the slowest operators.

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
/// The columns of a share and a time behind a bar, with the blanks before them.
const NUMBERS: usize = 22;
/// A path that is shorter than this is not worth being left out.
const SHORT_PATH: usize = 4;

/// `unprofiled` is what a run takes without the profiler that the account comes from, in nanoseconds, where that is known.
pub fn lines(account: &Account, unprofiled: Option<f64>, view: View, room: usize) -> Vec<String> {
    if account.op_types.is_empty() {
        return Vec::new();
    }
    let outside = Outside::of(account, unprofiled);
    let slowest = slowest(account, &outside, view);
    let room = room.saturating_sub(slowest.len());
    let blank = (room > 4).then(String::new);
    let bars = bars(&shares(account, &outside, room - blank.iter().len()), view);
    blank.into_iter().chain(bars).chain(slowest).collect()
}

/// The time of a run in which no operator is executed, without what the profiler adds to it.
struct Outside {
    /// In percent of a run without that.
    percent: f64,
    /// What a share of a run becomes that is a share of one without that.
    factor: f64,
}

impl Outside {
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
struct Part {
    name: String,
    percent: f64,
    /// Of a run, in nanoseconds, where it is known.
    median: Option<f64>,
}

/// The operator types by their shares, the largest first, and what is left of a run. At most so many.
fn shares(account: &Account, outside: &Outside, most: usize) -> Vec<Part> {
    let mut parts: Vec<Part> = account
        .op_types
        .iter()
        .map(|row| Part {
            name: if row.added { format!("{} (engine)", row.op_type) } else { row.op_type.clone() },
            percent: row.percent * outside.factor,
            median: Some(row.median_ns),
        })
        .collect();
    parts.sort_by(|a, b| b.percent.total_cmp(&a.percent));
    let between = outside.percent;
    if between >= 0.05 {
        let at = parts.partition_point(|part| part.percent >= between);
        parts.insert(at, Part { name: "(between)".to_owned(), percent: between, median: None });
    }
    if parts.len() > most.max(1) {
        let others = parts.split_off(most.max(1) - 1);
        let percent = others.iter().map(|part| part.percent).sum();
        parts.push(Part { name: format!("{} others", others.len()), percent, median: None });
    }
    parts
}

fn bars(parts: &[Part], view: View) -> Vec<String> {
    let names: Vec<String> = parts.iter().map(|part| shortened(&shown_text(&part.name), TYPE)).collect();
    let label = names.iter().map(|name| display_width(name) + 1).max().unwrap_or(0).max(LABEL);
    let columns = BAR.min(view.width.saturating_sub(label + NUMBERS));
    let longest = parts.iter().map(|part| part.percent).fold(0.0, f64::max);
    let line = |(part, name): (&Part, &String)| {
        let bar = view.bars.draw(part.percent / longest, columns);
        let [after_name, after_bar] =
            [label - display_width(name), columns - display_width(&bar)].map(|n| " ".repeat(n));
        let time = part.median.map(shown_time).unwrap_or_default();
        format!("{name}{after_name}{bar}{after_bar}{:>8.1} %{time:>11}", part.percent)
    };
    parts.iter().zip(&names).map(line).collect()
}

/// The slowest operators, below the path that all of them have in common.
fn slowest(account: &Account, outside: &Outside, view: View) -> Vec<String> {
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
            // The name of an operator whose module is known has the type.
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
