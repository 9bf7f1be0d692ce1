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
