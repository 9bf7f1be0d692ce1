//! What a notebook shows: tables without a script, which load nothing.

use std::fmt::Write;

use crate::columns::{Column, Columns, Values, bit};

/// The rows that a notebook shows of a table.
const SHOWN: usize = 30;

/// Returns a table as HTML; of a long table, only the first rows.
pub fn table(columns: &Columns) -> String {
    let is_number = |column: &Column| !matches!(column.values, Values::Texts { .. });
    let align = |column: &Column| if is_number(column) { "right" } else { "left" };
    let mut html = "<table><thead><tr>".to_owned();
    for column in columns.columns() {
        let _ = write!(html, "<th style=\"text-align:{}\">{}</th>", align(column), escaped(column.name));
    }
    html.push_str("</tr></thead><tbody>");
    for row in 0..columns.rows().min(SHOWN) {
        html.push_str("<tr>");
        for column in columns.columns() {
            let _ = write!(html, "<td style=\"text-align:{}\">{}</td>", align(column), escaped(&shown(column, row)));
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table>");
    if columns.rows() > SHOWN {
        let _ = write!(html, "<p>{} more rows</p>", columns.rows() - SHOWN);
    }
    html
}

/// Returns a title, with facts as a table of two columns, and with what follows them.
pub fn document(title: &str, facts: &[(&str, String)], rest: &str) -> String {
    let mut html = format!("<div><b>{}</b><table><tbody>", escaped(title));
    facts.iter().for_each(|(name, value)| html.push_str(&fact(name, value)));
    html + "</tbody></table>" + rest + "</div>"
}

/// Returns a row of a table: a name and a value.
pub fn fact(name: &str, value: &str) -> String {
    let cell = |text: &str| format!("<td style=\"text-align:left\">{}</td>", escaped(text));
    format!("<tr>{}{}</tr>", cell(name), cell(value))
}

fn shown(column: &Column, row: usize) -> String {
    if !column.has(row) {
        return String::new();
    }
    match &column.values {
        Values::Integers(numbers) => numbers[row].to_string(),
        Values::Numbers(numbers) => short(numbers[row]),
        Values::Truths(bits) => bit(bits, row).to_string(),
        Values::Texts { .. } => column.text(row).to_owned(),
    }
}

/// Four digits are enough to look at.
fn short(number: f64) -> String {
    match number.abs() {
        0.0 => "0".to_owned(),
        size if (1e-3..1e7).contains(&size) => {
            let digits = (3 - size.log10().floor() as i32).clamp(0, 6) as usize;
            format!("{number:.digits$}")
        }
        _ => format!("{number:.3e}"),
    }
}

fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            c => html.push(c),
        }
    }
    html
}
