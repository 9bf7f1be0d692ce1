//! The section on the tensors of a dump, and on the first one that is not finite.

use opscope_text::shown_size;

use super::RunOnPage;
use super::html::Html;
use super::operators::{Column, number, table};
use crate::ReportError;
use crate::chart;
use crate::facts::{DumpFacts, FirstBad, ValueRow};
use crate::units::{count, trimmed, value};

pub(super) fn section(html: &mut Html, place: &RunOnPage<'_>) -> Result<(), ReportError> {
    let Some(dump) = &place.run.dump else { return Ok(()) };
    let text = format!(
        "{} tensors of {} values, {}.",
        count(dump.tensors as u64),
        count((dump.rows.len() + dump.left) as u64),
        shown_size(dump.bytes)
    );
    html.element("p", &[("class", "description")], text);
    match &dump.first_bad {
        Some(bad) => first_bad(html, bad),
        None if dump.tensors == 0 => html.element("p", &[("class", "finding bad")], "The dump has no tensors."),
        None if !dump.problems.is_empty() => {
            let text = "No tensor that is in the dump has a NaN or an infinity, but the dump is incomplete: what is missing may have them.";
            html.element("p", &[("class", "finding bad")], text);
        }
        None => html.element("p", &[("class", "finding good")], "No tensor of the dump has a NaN or an infinity."),
    }
    if let Some(chart) = chart::magnitude(dump)? {
        html.within("div", &[("class", "charts")], |html| html.chart(&chart, &format!("{}-magnitude", place.prefix)));
    }
    values(html, place, dump);
    Ok(())
}

fn first_bad(html: &mut Html, bad: &FirstBad) {
    html.within("p", &[("class", "finding bad")], |html| {
        html.element("strong", &[], "The first tensor that is not finite");
        html.text(" is ");
        html.element("code", &[], &bad.value);
        if bad.is_given {
            html.text(", an input of the model: no operator made it");
        }
        if let Some(operator) = &bad.operator {
            html.text(match (bad.is_given, bad.is_input) {
                (true, _) => ". It is taken by ",
                (false, true) => ", which is taken by ",
                (false, false) => ", which is given by ",
            });
            html.element("code", &[], bad.code.as_ref().map_or(operator, |code| &code.display_name));
        }
        // An operator's name for people contains its type.
        let is_named = bad.code.as_ref().is_some_and(|code| code.module().is_some());
        if let Some(op_type) = bad.op_type.as_ref().filter(|_| !is_named) {
            html.text(format!(" ({op_type})"));
        }
        if let Some(run) = bad.run {
            html.text(format!(" in run {run}"));
        }
        let of = |number: u64, what: &str| match number {
            1 => format!("1 element is {what}"),
            _ => format!("{} elements are {what}", count(number)),
        };
        html.text(format!(": {} and {}.", of(bad.nan, "NaN"), of(bad.inf, "infinite")));
        match bad.suspects.as_deref() {
            Some([]) => {}
            Some(inputs) => {
                let inputs = inputs.join(", ");
                html.text(format!(
                    " Its operator takes what the model was given ({inputs}), which is not in the dump and may have had them."
                ));
            }
            None if bad.is_given || bad.is_input => {}
            None => html.text(" What the model was given and its weights may have had them: they are not in the dump."),
        }
        for line in bad.code.iter().flat_map(|code| code.lines()) {
            html.element("small", &[], line);
        }
    });
}

fn values(html: &mut Html, place: &RunOnPage<'_>, dump: &DumpFacts) {
    let columns: &[Column] = &[
        Column { title: "Value", is_number: false },
        Column { title: "Operator", is_number: false },
        Column { title: "Tensor", is_number: false },
        Column { title: "Tensors", is_number: true },
        Column { title: "Minimum", is_number: true },
        Column { title: "Maximum", is_number: true },
        Column { title: "Mean", is_number: true },
        Column { title: "NaN", is_number: true },
        Column { title: "Inf", is_number: true },
    ];
    let caption = match dump.left {
        0 => "Every value over all its tensors, those with NaN or infinite elements first. Minimum, maximum and mean are of the finite elements.".to_owned(),
        left => {
            format!(
                "The first values of the graph over all their tensors, those with NaN or infinite elements first; {} more are not shown.",
                count(left as u64)
            )
        }
    };
    let id = format!("{}-values", place.prefix);
    // Wrong values are listed first, so that readers need not search for them.
    let (bad, good): (Vec<_>, Vec<_>) = dump.rows.iter().partition(|row| row.nan + row.inf > 0);
    table(html, &id, &caption, columns, dump.rows.len(), |html| {
        bad.into_iter().chain(good).for_each(|value| row(html, place, value));
    });
}

fn row(html: &mut Html, place: &RunOnPage<'_>, row: &ValueRow) {
    let class = if row.nan + row.inf > 0 { "bad" } else { "" };
    html.within("tr", &[("class", class)], |html| {
        html.element("th", &[("scope", "row")], &row.value);
        html.within("td", &[], |html| {
            // Its name for people contains its type.
            html.text(row.code.as_ref().map_or(&row.operator, |code| &code.display_name));
            let is_named = row.code.as_ref().is_some_and(|code| code.module().is_some());
            let of = if is_named { &row.operator } else { &row.op_type };
            html.element("small", &[], format!("{of} {}", row.io).trim());
            if let Some(body) = place.run.body_of(&row.operator) {
                html.element("small", &[], body);
            }
            if let Some(source) = row.code.as_ref().and_then(|code| code.source.as_ref()) {
                html.element("small", &[], source.to_string());
            }
        });
        html.within("td", &[], |html| {
            html.text(&row.dtype);
            html.element("small", &[], &row.shape);
        });
        number(html, row.tensors as f64, count(row.tensors));
        [row.min, row.max, row.mean].into_iter().for_each(|number| element(html, number));
        number(html, row.nan as f64, count(row.nan));
        number(html, row.inf as f64, count(row.inf));
    });
}

/// Writes a number computed from a tensor's elements.
fn element(html: &mut Html, element: Option<f64>) {
    let sorted =
        element.map_or_else(
            String::new,
            |element| if element.abs() < 1e-3 { format!("{element:e}") } else { trimmed(element) },
        );
    html.element("td", &[("class", "n"), ("data-v", &sorted)], element.map_or_else(|| "–".to_owned(), value));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_sorted_by_their_values_also_the_smallest() {
        let of = |number: Option<f64>| {
            let mut html = Html::default();
            element(&mut html, number);
            html.finish()
        };
        let expected = |sorted: &str, text: &str| format!("<td class=\"n\" data-v=\"{sorted}\">{text}</td>");
        assert_eq!(of(None), expected("", "–"));
        assert_eq!(of(Some(-9.5e-4)), expected("-9.5e-4", "-9.500e-4"));
        assert_eq!(of(Some(1e-3)), expected("0.001", "0.001000"));
        assert_eq!(of(Some(-12.5)), expected("-12.5", "-12.50"));
    }
}
