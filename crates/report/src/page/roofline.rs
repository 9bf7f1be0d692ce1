//! The section on how far operators are from the machine's limits.

use opscope_profile::{Account, OperatorTimes};

use super::RunOnPage;
use super::html::Html;
use super::operators::{Column, number, table};
use super::overview::bar;
use crate::ReportError;
use crate::chart;
use crate::facts::RunFacts;
use crate::units::{count, duration, percent, trimmed, value};

/// How many rows the table has at most.
const MOST_ROWS: usize = 1_000;

pub(super) fn is_there(run: &RunFacts) -> bool {
    run.account.as_ref().is_some_and(|account| rows(account).next().is_some())
}

fn rows(account: &Account) -> impl Iterator<Item = &OperatorTimes> {
    account.operators.iter().filter(|operator| operator.work.is_some())
}

pub(super) fn section(html: &mut Html, place: &RunOnPage<'_>) -> Result<(), ReportError> {
    let Some(account) = &place.run.account else { return Ok(()) };
    let chart = account.roofline.as_ref().map(|machine| chart::roofline(machine, &account.operators)).transpose()?;
    match chart.flatten() {
        Some(chart) => html.within("div", &[("class", "charts")], |html| {
            html.chart(&chart, &format!("{}-roofline-chart", place.prefix));
        }),
        None => html.element(
            "p",
            &[("class", "description")],
            "What the machine of the recording reaches is not known here: it can be measured only there.",
        ),
    }
    let columns: &[Column] = &[
        Column { title: "Operator", is_number: false },
        Column { title: "Type", is_number: false },
        Column { title: "Median", is_number: true },
        Column { title: "MFLOP", is_number: true },
        Column { title: "GFLOP/s", is_number: true },
        Column { title: "GB/s", is_number: true },
        Column { title: "Operations per byte", is_number: true },
        Column { title: "Of the bound", is_number: true },
    ];
    let all = rows(account).count();
    let caption = match all.saturating_sub(MOST_ROWS) {
        0 => {
            "What operators compute and move, at their median time, and how much of the bound that applies they reach."
                .to_owned()
        }
        left => format!("What the slowest operators compute and move; {} more take less time.", count(left as u64)),
    };
    let id = format!("{}-roofline-table", place.prefix);
    table(html, &id, &caption, columns, all.min(MOST_ROWS), |html| {
        rows(account).take(MOST_ROWS).for_each(|operator| row(html, operator));
    });
    Ok(())
}

fn row(html: &mut Html, operator: &OperatorTimes) {
    let Some(work) = &operator.work else { return };
    html.within("tr", &[], |html| {
        html.element("th", &[("scope", "row")], &operator.operator);
        html.within("td", &[], |html| {
            html.text(&operator.op_type);
            html.element("small", &[], work.dtype.as_deref().unwrap_or(""));
        });
        number(html, operator.median_ns, duration(operator.median_ns));
        for amount in [work.flops.map(|flops| flops / 1e6), work.gflops_per_s, work.gbytes_per_s, work.flops_per_byte] {
            number(html, amount.unwrap_or(-1.0), amount.map_or_else(|| "–".to_owned(), value));
        }
        let sorted = work.bound.map_or_else(String::new, |bound| trimmed(bound.percent));
        html.within("td", &[("class", "n"), ("data-v", &sorted)], |html| match work.bound {
            Some(bound) => {
                html.text(percent(bound.percent));
                html.element("small", &[], format!("by {}", bound.limited_by.name()));
                bar(html, bound.percent, "c2");
            }
            None => html.text("–"),
        });
    });
}
