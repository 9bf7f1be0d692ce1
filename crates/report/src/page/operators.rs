//! The table of operators.

use super::RunOnPage;
use super::html::Html;
use super::overview::bar;
use crate::ReportError;
use crate::facts::OperatorRow;
use crate::units::{count, duration, percent, trimmed};

pub(super) fn section(html: &mut Html, place: &RunOnPage<'_>) -> Result<(), ReportError> {
    let operators = &place.run.operators;
    let columns: &[Column] = &[
        Column { title: "Operator", is_number: false },
        Column { title: "Type", is_number: false },
        Column { title: "Median", is_number: true },
        Column { title: "Share", is_number: true },
        Column { title: "P90", is_number: true },
        Column { title: "P99", is_number: true },
        Column { title: "Mean", is_number: true },
        Column { title: "Total", is_number: true },
        Column { title: "Count", is_number: true },
    ];
    let caption = match operators.left {
        0 => format!(
            "The time of every operator of the file. A fused kernel counts for the first of its operators. {OF_MEDIANS}"
        ),
        left => format!("The slowest operators of the file; {} more take less time. {OF_MEDIANS}", count(left as u64)),
    };
    let id = format!("{}-operators-table", place.prefix);
    table(html, &id, &caption, columns, operators.rows.len(), |html| {
        operators.rows.iter().for_each(|operator| row(html, place, operator));
    });
    Ok(())
}

const OF_MEDIANS: &str =
    "Shares are those of medians; the mean and the total are of all runs, with those that were held up.";

/// A column of a table that can be sorted.
pub(super) struct Column {
    pub title: &'static str,
    pub is_number: bool,
}

/// Writes a table that can be searched and sorted; `rows` writes its rows.
pub(super) fn table(
    html: &mut Html,
    id: &str,
    caption: &str,
    columns: &[Column],
    count: usize,
    rows: impl FnOnce(&mut Html),
) {
    let search = format!("{id}-search");
    html.within("div", &[("class", "search")], |html| {
        html.element("label", &[("for", &search)], "Search");
        let attributes = [("type", "search"), ("id", &*search), ("data-search", id), ("placeholder", "name or type")];
        html.void("input", &attributes);
        html.element("output", &[("for", &search)], format!("{count} rows"));
    });
    let caption_id = format!("{id}-caption");
    let scroll = [("class", "scroll"), ("role", "region"), ("tabindex", "0"), ("aria-labelledby", &*caption_id)];
    html.within("div", &scroll, |html| {
        html.within("table", &[("class", "sortable"), ("id", id), ("aria-labelledby", &caption_id)], |html| {
            html.within("thead", &[], |html| {
                html.within("tr", &[], |html| {
                    for column in columns {
                        let class = if column.is_number { "n" } else { "t" };
                        html.within("th", &[("scope", "col"), ("class", class)], |html| {
                            html.element("button", &[("type", "button")], column.title);
                        });
                    }
                });
            });
            html.within("tbody", &[], rows);
        });
    });
    // Outside the table, because a caption would become as wide as a table that is wider than the screen.
    html.element("p", &[("class", "hint"), ("id", &caption_id)], caption);
}

fn row(html: &mut Html, place: &RunOnPage<'_>, operator: &OperatorRow) {
    html.within("tr", &[], |html| {
        html.within("th", &[("scope", "row")], |html| {
            html.text(operator.display_name());
            let mut details = Vec::new();
            if let Some(origin) = &operator.origin {
                details.extend(origin.module().map(|_| operator.name.clone()));
                details.extend(origin.source.as_ref().map(ToString::to_string));
            }
            details.extend(place.run.body_of(&operator.name));
            if operator.added {
                details.push("added by the engine".to_owned());
            }
            if !operator.fused.is_empty() {
                details.push(format!("with {}", first_of(&operator.fused)));
            }
            if !operator.exact && !operator.added {
                details.push("attribution inferred".to_owned());
            }
            if !details.is_empty() {
                html.element("small", &[], details.join("; "));
            }
        });
        html.within("td", &[], |html| {
            html.text(&operator.op_type);
            html.element("small", &[], first_of(&operator.kernels));
        });
        number(html, operator.median, duration(operator.median));
        let sorted = trimmed(operator.percent);
        html.within("td", &[("class", "n"), ("data-v", &sorted)], |html| {
            html.text(percent(operator.percent));
            bar(html, operator.percent, "c0");
        });
        for percentile in [operator.p90, operator.p99] {
            number(html, percentile.unwrap_or(-1.0), percentile.map_or_else(|| "–".to_owned(), duration));
        }
        number(html, operator.mean, duration(operator.mean));
        number(html, operator.total, duration(operator.total));
        number(html, operator.dispatches as f64, count(operator.dispatches));
    });
}

/// Writes a number, and the value that it is sorted by.
pub(super) fn number(html: &mut Html, value: f64, text: String) {
    let sorted = trimmed(value);
    html.element("td", &[("class", "n"), ("data-v", &sorted)], text);
}

/// Returns the first of some names, and how many more there are.
fn first_of(names: &[String]) -> String {
    const SHOWN: usize = 3;
    let mut text = names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        text.push_str(&format!(" and {} more", names.len() - SHOWN));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_sorted_by_its_value_and_three_names_are_shown() {
        let mut html = Html::default();
        number(&mut html, 1_234.5, "1.235 µs".to_owned());
        assert_eq!(html.finish(), "<td class=\"n\" data-v=\"1234.5\">1.235 µs</td>");
        let of = |names: usize| first_of(&["a", "b", "c", "d", "e"].map(str::to_owned)[..names]);
        assert_eq!([0, 2, 3, 4, 5].map(of), ["", "a, b", "a, b, c", "a, b, c and 1 more", "a, b, c and 2 more"]);
    }
}
