//! The section on the memory that a run holds.

use opscope_profile::MemoryOfOperator;
use opscope_text::shown_size;

use super::RunOnPage;
use super::html::Html;
use super::operators::{Column, number, table};
use crate::ReportError;
use crate::chart;
use crate::units::count;

/// How many rows the table has at most: the operators that hold the most at the peak.
const MOST_ROWS: usize = 500;

pub(super) fn section(html: &mut Html, place: &RunOnPage<'_>) -> Result<(), ReportError> {
    let Some(memory) = &place.run.memory else { return Ok(()) };
    let chart = chart::memory(memory)?;
    html.within("div", &[("class", "charts")], |html| html.chart(&chart, &format!("{}-memory-chart", place.prefix)));
    let mut rows: Vec<&MemoryOfOperator> = memory.operators.iter().collect();
    rows.sort_by_key(|row| std::cmp::Reverse((row.bytes_at_peak, row.allocated_bytes)));
    let left = rows.len().saturating_sub(MOST_ROWS);
    rows.truncate(MOST_ROWS);
    let columns: &[Column] = &[
        Column { title: "Operator", is_number: false },
        Column { title: "Allocations", is_number: true },
        Column { title: "Allocated", is_number: true },
        Column { title: "Held at the peak", is_number: true },
    ];
    let caption = match left {
        0 => "The tensors of a run, by the operator that computes them.".to_owned(),
        left => format!("The operators that hold the most at the peak; {} more hold less.", count(left as u64)),
    };
    let id = format!("{}-memory-table", place.prefix);
    table(html, &id, &caption, columns, rows.len(), |html| {
        for row in rows {
            html.within("tr", &[], |html| {
                html.within("th", &[("scope", "row")], |html| match &row.operator {
                    Some(operator) => {
                        let name = place.run.display_name(operator);
                        html.text(name);
                        if name != operator {
                            html.element("small", &[], operator);
                        }
                        if let Some(body) = place.run.body_of(operator) {
                            html.element("small", &[], body);
                        }
                    }
                    None => html.text("inputs of the run"),
                });
                number(html, row.allocations as f64, count(row.allocations));
                number(html, row.allocated_bytes as f64, shown_size(row.allocated_bytes));
                number(html, row.bytes_at_peak as f64, shown_size(row.bytes_at_peak));
            });
        }
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use opscope_profile::{MemoryOverTime, MemoryPoint};

    use super::*;
    use crate::facts::RunFacts;

    #[test]
    fn the_operators_that_hold_the_most_come_first_and_five_hundred_are_shown() {
        let of = |operators: Vec<MemoryOfOperator>| {
            let points = vec![MemoryPoint { ns: 0.0, bytes: 1 }];
            let memory = MemoryOverTime { run: 0, peak_bytes: 1, points, operators };
            let run = RunFacts { memory: Some(memory), ..RunFacts::default() };
            let mut html = Html::default();
            let place = RunOnPage { run: &run, prefix: "r1".to_owned(), directory: Path::new(".") };
            section(&mut html, &place).expect("a chart");
            html.finish()
        };
        let row = |name: &str, allocated_bytes, bytes_at_peak| MemoryOfOperator {
            operator: (!name.is_empty()).then(|| name.to_owned()),
            allocations: 1_000,
            allocated_bytes,
            bytes_at_peak,
        };
        let html = of(vec![row("/a", 1, 0), row("/b", 9, 5), row("", 2_048, 7), row("/c", 10, 5)]);
        let places =
            ["inputs of the run", "/c", "/b", "/a"].map(|name| html.find(&format!("<th scope=\"row\">{name}</th>")));
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}");
        assert!(
            html.contains("data-v=\"1000\">1\u{202f}000</td><td class=\"n\" data-v=\"2048\">2.0 KiB</td>"),
            "{html}"
        );
        assert!(html.contains("by the operator that computes them."));
        let many = of((0..502).map(|index| row(&format!("/{index}"), 1, index)).collect());
        assert!(many.contains("; 2 more hold less.") && many.matches("<th scope=\"row\">").count() == 500);
        assert!(many.contains("<th scope=\"row\">/501</th>") && !many.contains("<th scope=\"row\">/1</th>"));
    }
}
