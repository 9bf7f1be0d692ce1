//! Which operators must stay in float32, and what each operator does in the narrower type.

use std::collections::HashMap;

use super::RunOnPage;
use super::html::Html;
use super::operators::{Column, table};
use crate::ReportError;
use crate::chart;
use crate::source::{SavedLook, SavedPrecision};
use crate::units::{count, percent, value};

/// How many rows the table has at most.
const MOST_ROWS: usize = 4_000;

pub(super) fn section(html: &mut Html, place: &RunOnPage<'_>) -> Result<(), ReportError> {
    let Some(precision) = &place.run.precision else { return Ok(()) };
    verdict(html, precision);
    html.element("p", &[("class", "description")], measured(precision));
    if let Some(chart) = chart::own_errors(precision)? {
        html.within("div", &[("class", "charts")], |html| html.chart(&chart, &format!("{}-errors", place.prefix)));
    }
    if !precision.all_operators.is_empty() {
        operators(html, place, precision);
    }
    Ok(())
}

fn verdict(html: &mut Html, precision: &SavedPrecision) {
    let SavedPrecision { to, target, kept, .. } = precision;
    let (class, text) = match (&precision.written, precision.minimal) {
        (None, _) if precision.all_low.is_none() => {
            ("finding bad", format!("The target {target} is finer than what two ways to compute in float32 agree on."))
        }
        (None, _) => ("finding bad", "Nothing was found in time.".to_owned()),
        (Some(_), _) if kept.is_empty() => ("finding good", format!("Every operator can compute in {to}.")),
        (Some(_), minimal) => {
            let share = percent(precision.kept_time * 100.0);
            let (some, all) = (count(kept.len() as u64), count(precision.operators));
            let proof = match minimal {
                true => format!("Without any one of them, {target} is missed."),
                false => "The search was cut short: fewer may do.".to_owned(),
            };
            let class = if minimal { "finding good" } else { "finding bad" };
            (
                class,
                format!(
                    "{some} of {all} operators stay in float32, {share} of the time; the others compute in {to}. {proof}"
                ),
            )
        }
    };
    html.element("p", &[("class", class)], text);
}

/// Returns the numbers that belong to the target, as sentences.
fn measured(precision: &SavedPrecision) -> String {
    let reaches = |number: Option<f64>| match number {
        Some(number) => format!("reaches {}", exact(number)),
        None => "gives outputs that are not finite".to_owned(),
    };
    let mut text = format!("The target is {}.", precision.target);
    let mut say = |sentence: String| text.extend([" ", &sentence]);
    if let Some(noise) = precision.noise {
        say(format!("Two ways to compute in float32 reach {}.", exact(noise)));
    }
    // A command that checks models gives no numbers.
    let (true, Some(all_low)) = (precision.noise.is_some(), &precision.all_low) else { return text };
    say(format!("The model with every operator in {} {}.", precision.to, reaches(all_low.value)));
    if let Some(by) = &precision.measured_by {
        let sets = count(precision.inputs);
        say(format!("The written model {} on {sets} sets of inputs, by {by}.", reaches(precision.value)));
    }
    if let Some(held_out) = &precision.held_out {
        let interval = match (held_out.low, held_out.high) {
            (Some(low), Some(high)) => format!(" ({} to {} with 95 % confidence)", exact(low), exact(high)),
            _ => String::new(),
        };
        let (mean, sets) = (reaches(held_out.mean), count(held_out.inputs));
        say(format!("It {mean}{interval} on {sets} sets that the search did not see."));
    }
    text
}

/// Returns a number with as many digits as distinguish it from 1.
fn exact(number: f64) -> String {
    if (0.9..1.0).contains(&number) {
        let digits = 1.0 - (1.0 - number).log10().floor();
        return format!("{number:.*}", (digits as usize).clamp(3, 12));
    }
    value(number)
}

fn operators(html: &mut Html, place: &RunOnPage<'_>, precision: &SavedPrecision) {
    let columns: &[Column] = &[
        Column { title: "Operator", is_number: false },
        Column { title: "Type", is_number: false },
        Column { title: "Own error", is_number: true },
        Column { title: "Cause", is_number: false },
        Column { title: "Stays", is_number: false },
        Column { title: "Without it", is_number: true },
        Column { title: "Time", is_number: true },
    ];
    let looks = &precision.all_operators;
    let mut caption = format!(
        "Every operator that can be lowered, those that stay in float32 first, in the order of execution. The own error is that of its outputs \
         if it alone computes in {}, as a multiple of the error of rounding one number. Without it is what the outputs reach if it is lowered, too.",
        precision.to
    );
    if looks.len() > MOST_ROWS {
        caption.push_str(&format!(" {} more are not shown.", count((looks.len() - MOST_ROWS) as u64)));
    }
    let without: HashMap<&str, Option<f64>> =
        precision.kept.iter().map(|kept| (kept.operator.as_str(), kept.value_without)).collect();
    let id = format!("{}-precision-table", place.prefix);
    let (kept, others): (Vec<_>, Vec<_>) = looks.iter().partition(|look| look.kept);
    table(html, &id, &caption, columns, looks.len().min(MOST_ROWS), |html| {
        for look in kept.into_iter().chain(others).take(MOST_ROWS) {
            let without = without.get(look.operator.as_str()).copied().filter(|_| look.kept);
            row(html, look, without, precision.rounding_unit());
        }
    });
}

fn row(html: &mut Html, look: &SavedLook, without: Option<Option<f64>>, unit: f64) {
    html.within("tr", &[("class", if look.kept { "bad" } else { "" })], |html| {
        html.element("th", &[("scope", "row")], &look.operator);
        html.element("td", &[], &look.op_type);
        let error = look.error.map(|error| error / unit);
        cell(html, error, error.map_or_else(|| "–".to_owned(), value));
        html.element("td", &[], look.cause.as_deref().unwrap_or_default());
        html.element("td", &[], if look.kept { "float32" } else { "" });
        let reached = without.map(|reached| reached.map_or_else(|| "not finite".to_owned(), exact));
        cell(html, without.flatten(), reached.unwrap_or_default());
        cell(html, Some(look.time), percent(look.time * 100.0));
    });
}

/// Writes a number, which sorts by its value.
fn cell(html: &mut Html, number: Option<f64>, text: String) {
    let sorted = number.map_or_else(String::new, |number| format!("{number:e}"));
    html.element("td", &[("class", "n"), ("data-v", &sorted)], text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_near_one_have_the_digits_that_distinguish_them() {
        assert_eq!([0.999_987_4, 0.912, 1.0, 0.5, 41.26].map(exact), ["0.999987", "0.912", "1.000", "0.5000", "41.26"]);
    }
}
