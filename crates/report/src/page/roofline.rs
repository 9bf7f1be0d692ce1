//! The section on how far operators are from the machine's limits.

use opscope_profile::{Account, OperatorTimes};
use opscope_tensor::DType;

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
            html.element("small", &[], work.dtype.map_or("", DType::name));
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

#[cfg(test)]
mod tests {
    use opscope_profile::{RunCounts, Work};
    use opscope_roofline::{Bound, Limit};

    use super::*;
    use crate::facts::made;

    fn written(work: Work) -> String {
        let mut html = Html::default();
        row(&mut html, &made::operator("/a", Some(work)));
        html.finish()
    }

    #[test]
    fn a_row_has_millions_of_operations_and_how_much_of_the_bound_is_reached() {
        let mut work = Work::default();
        (work.flops, work.gflops_per_s, work.flops_per_byte) = (Some(2.5e6), Some(12.5), Some(0.25));
        work.bound = Some(Bound { limited_by: Limit::Compute, least_ns: 1.0, percent: 40.0 });
        let html = written(work);
        let cell = |sorted: &str, text: &str| format!("<td class=\"n\" data-v=\"{sorted}\">{text}</td>");
        let numbers = [("1", "1 ns"), ("2.5", "2.500"), ("12.5", "12.50"), ("-1", "–"), ("0.25", "0.2500")];
        let numbers: String = numbers.into_iter().map(|(sorted, text)| cell(sorted, text)).collect();
        assert!(html.contains(&numbers), "{html}");
        assert!(html.contains("data-v=\"40\">40.00 %<small>by compute</small>"), "{html}");
        assert!(written(Work::default()).contains("<td class=\"n\" data-v=\"\">–</td>"));
    }

    #[test]
    fn a_run_whose_operators_have_known_work_is_shown() {
        let of = |work: Option<Work>| {
            let account =
                made::account(RunCounts::default(), vec![made::operator("/a", None), made::operator("/b", work)]);
            is_there(&RunFacts { account: Some(account), ..RunFacts::default() })
        };
        assert_eq!((of(None), of(Some(Work::default()))), (false, true));
        assert!(!is_there(&RunFacts::default()));
    }
}
