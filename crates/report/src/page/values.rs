//! The section that compares the tensors of a dump with those of another one.

use std::path::Path;

use opscope_dump::Verdict;

use super::commands;
use super::html::Html;
use super::operators::{Column, number, table};
use crate::facts::{FirstDifference, ValueDifference, ValuesComparison};
use crate::units::{count, value};

pub(super) fn section(html: &mut Html, values: &ValuesComparison, directory: &Path) {
    let (class, text) = verdict(values);
    html.element("p", &[("class", class)], text);
    if let Some(first) = &values.first {
        self::first(html, first);
    }
    if !values.not_compared.is_empty() {
        html.element("h3", &[], "Not compared");
        html.within("ul", &[("class", "problems")], |html| {
            values.not_compared.iter().for_each(|sentence| html.element("li", &[], sentence));
        });
    }
    if !values.notes.is_empty() {
        html.within("ul", &[("class", "notes")], |html| {
            values.notes.iter().for_each(|note| html.element("li", &[], note));
        });
    }
    rows(html, values);
    commands::of_values(html, values, directory);
}

/// Returns the verdict of the comparison, with the class of its colour.
fn verdict(values: &ValuesComparison) -> (&'static str, String) {
    let (run, reference) = (&values.run.0, &values.reference.0);
    let tensors = |number: usize| match number {
        1 => "1 tensor".to_owned(),
        _ => format!("{} tensors", count(number as u64)),
    };
    let compared = match values.unknown {
        0 => format!(
            "{} compared, {} within the tolerance",
            tensors(values.compared),
            count((values.compared - values.different) as u64)
        ),
        unknown => format!(
            "{} compared, {} within the tolerance, of {} it cannot be told",
            tensors(values.compared),
            count(values.compared.saturating_sub(values.different + unknown) as u64),
            count(unknown as u64)
        ),
    };
    match values.verdict {
        Verdict::Different => (
            "finding bad",
            format!("{run} differs from {reference}, the reference: {} of {compared}.", count(values.different as u64)),
        ),
        Verdict::Unknown if values.compared == 0 => {
            ("finding bad", format!("No tensor of {run} could be compared with {reference}, the reference."))
        }
        Verdict::Unknown => (
            "finding bad",
            format!(
                "Nothing that was compared of {run} differs from {reference}, the reference, but not everything was: {compared}."
            ),
        ),
        Verdict::Same => ("finding good", format!("{run} agrees with {reference}, the reference: {compared}.")),
    }
}

fn first(html: &mut Html, first: &FirstDifference) {
    html.within("p", &[("class", "finding bad")], |html| {
        html.element("strong", &[], "The first tensor that differs");
        html.text(" is ");
        html.element("code", &[], &first.value);
        if let Some((operator, op_type)) = &first.operator {
            html.text(if first.is_before { ", where a difference is seen that goes back to " } else { ", of " });
            let named = first.code.as_ref().filter(|code| code.module().is_some());
            html.element("code", &[], named.map_or(operator, |code| &code.display_name));
            if let Some(op_type) = op_type.as_ref().filter(|_| named.is_none()) {
                html.text(format!(" ({op_type})"));
            }
        }
        if let Some(run) = first.run {
            html.text(format!(" in run {run}"));
        }
        html.text(format!(": {}. {}", first.outcome, first.blame));
        for line in first.code.iter().flat_map(|code| code.lines()) {
            html.element("small", &[], line);
        }
    });
}

fn rows(html: &mut Html, values: &ValuesComparison) {
    if values.rows.is_empty() {
        return;
    }
    let columns: &[Column] = &[
        Column { title: "Value", is_number: false },
        Column { title: "Operator", is_number: false },
        Column { title: "Run", is_number: true },
        Column { title: "Found", is_number: false },
        Column { title: "Of the largest", is_number: true },
        Column { title: "Cosine", is_number: true },
    ];
    let order = "In the order of execution. Differences are of the reference's largest element.";
    let caption = match values.left {
        0 => order.to_owned(),
        left => {
            format!("{order} {} more are not shown; those that differ come first in the choice.", count(left as u64))
        }
    };
    table(html, "compared-values", &caption, columns, values.rows.len(), |html| {
        values.rows.iter().for_each(|value| row(html, value));
    });
}

fn row(html: &mut Html, row: &ValueDifference) {
    let (class, word) = match row.verdict {
        Verdict::Same => ("", ""),
        Verdict::Unknown => ("", "cannot be told: "),
        Verdict::Different => ("bad", "differs: "),
    };
    html.within("tr", &[("class", class)], |html| {
        html.within("th", &[("scope", "row")], |html| {
            html.text(&row.value);
            if let Some(reference) = &row.reference {
                html.element("small", &[], format!("compared with {reference}"));
            }
        });
        html.within("td", &[], |html| {
            html.text(row.code.as_ref().map_or(&row.operator, |code| &code.display_name));
            let is_named = row.code.as_ref().is_some_and(|code| code.module().is_some());
            html.element("small", &[], if is_named { &row.operator } else { &row.op_type });
        });
        number(
            html,
            row.run.map_or(-1.0, |run| run as f64),
            row.run.map_or_else(|| "–".to_owned(), |run| run.to_string()),
        );
        html.element("td", &[], format!("{word}{}", row.outcome));
        let error = row.error.map(|error| if error.is_finite() { value(error) } else { "no size".to_owned() });
        // Differences without a magnitude are sorted above all others.
        let sorted = row.error.map_or_else(|| "-1".to_owned(), |error| format!("{:e}", error.min(f64::MAX)));
        html.element("td", &[("class", "n"), ("data-v", &sorted)], error.unwrap_or_else(|| "–".to_owned()));
        number(
            html,
            row.cosine.unwrap_or(-2.0),
            row.cosine.map_or_else(|| "–".to_owned(), |cosine| format!("{cosine:.7}")),
        );
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_its_run_what_was_found_and_is_sorted_by_how_far_it_is_off() {
        let of = |verdict, run, error, cosine| {
            let value = ValueDifference {
                value: "b".to_owned(),
                reference: None,
                operator: "/one".to_owned(),
                op_type: "Add".to_owned(),
                code: None,
                run,
                verdict,
                outcome: "off".to_owned(),
                error,
                cosine,
            };
            let mut html = Html::default();
            row(&mut html, &value);
            html.finish()
        };
        let cell = |sorted: &str, text: &str| format!("<td class=\"n\" data-v=\"{sorted}\">{text}</td>");
        let differs = of(Verdict::Different, Some(7), Some(0.25), Some(0.5));
        let expected = cell("7", "7") + "<td>differs: off</td>" + &cell("2.5e-1", "0.2500") + &cell("0.5", "0.5000000");
        assert!(differs.starts_with("<tr class=\"bad\">") && differs.ends_with(&(expected + "</tr>")), "{differs}");
        let unknown = of(Verdict::Unknown, None, None, None);
        let expected = cell("-1", "–") + "<td>cannot be told: off</td>" + &cell("-1", "–") + &cell("-2", "–");
        assert!(unknown.starts_with("<tr class=\"\">") && unknown.ends_with(&(expected + "</tr>")), "{unknown}");
        // A difference without a size is above all that have one.
        let infinite = of(Verdict::Different, None, Some(f64::INFINITY), None);
        assert!(infinite.contains(&cell("1.7976931348623157e308", "no size")), "{infinite}");
    }

    fn values(outcome: Verdict, compared: usize, different: usize, unknown: usize) -> ValuesComparison {
        ValuesComparison {
            run: ("new".to_owned(), "n".into()),
            reference: ("old".to_owned(), "it is old".into()),
            verdict: outcome,
            compared,
            different,
            unknown,
            first: None,
            rows: Vec::new(),
            left: 0,
            not_compared: Vec::new(),
            notes: Vec::new(),
            errors: Default::default(),
        }
    }

    #[test]
    fn the_section_ends_with_the_command_that_shows_every_tensor() {
        let mut html = Html::default();
        section(&mut html, &values(Verdict::Same, 1, 0, 0), Path::new("."));
        let html = html.finish();
        assert!(html.contains("<code>opscope compare n &#39;it is old&#39;</code>"), "{html}");
        assert!(!html.contains("Not compared") && !html.contains("<table"));
    }

    #[test]
    fn the_verdict_counts_what_is_within_the_tolerance() {
        let of = |outcome, compared, different, unknown| verdict(&values(outcome, compared, different, unknown));
        let text = "new differs from old, the reference: 2 of 10 tensors compared, 8 within the tolerance.";
        assert_eq!(of(Verdict::Different, 10, 2, 0), ("finding bad", text.to_owned()));
        let text = "new differs from old, the reference: 2 of 10 tensors compared, 5 within the tolerance, of 3 it cannot be told.";
        assert_eq!(of(Verdict::Different, 10, 2, 3), ("finding bad", text.to_owned()));
        let text = "new agrees with old, the reference: 1 tensor compared, 1 within the tolerance.";
        assert_eq!(of(Verdict::Same, 1, 0, 0), ("finding good", text.to_owned()));
        assert!(of(Verdict::Unknown, 0, 0, 0).1.starts_with("No tensor of new could be compared"));
        assert!(
            of(Verdict::Unknown, 3, 0, 1)
                .1
                .ends_with("3 tensors compared, 2 within the tolerance, of 1 it cannot be told.")
        );
    }
}
