//! The comparison of run A with run B.

use opscope_job::compare::times::{Change, OperatorChange, Side, TimesComparison};

use super::html::Html;
use super::operators::{Column, number, table};
use crate::units::{count, duration, trimmed};

/// How many rows the table has at most; the comparison lists those with the highest cost first.
const MOST_ROWS: usize = 2_000;

pub(super) fn section(html: &mut Html, comparison: &TimesComparison) {
    let (class, text) = in_words(&comparison.run);
    html.element("p", &[("class", class)], text);
    html.within("dl", &[("class", "tiles")], |html| {
        side(html, "A", &comparison.a);
        side(html, "B", &comparison.b);
        total(html, "Median run", &comparison.run);
        if let Some(outside) = &comparison.outside {
            total(html, "Outside of operators", outside);
        }
    });
    html.element("p", &[("class", "description")], format!("{}.", comparison.baseline_sentence()));
    if let Some(text) = comparison.slowdown.and_then(machine) {
        html.element("p", &[("class", "finding bad")], text);
    }
    if !comparison.notes.is_empty() {
        html.within("ul", &[("class", "notes")], |html| {
            comparison.notes.iter().for_each(|note| html.element("li", &[], note));
        });
    }
    surroundings(html, comparison);
    operators(html, comparison);
}

/// Returns the verdict on the time of a run, and the class of its colour.
fn in_words(change: &Change) -> (&'static str, String) {
    let Some(percent) = change.percent else {
        return ("finding unsure", "B cannot be compared with A: one of them has no time of a run.".to_owned());
    };
    let word = if percent > 0.0 { "slower" } else { "faster" };
    let size = percent.abs();
    match change.percent_interval {
        None => (
            "finding unsure",
            format!(
                "Whether B is {word} than A cannot be told: the medians are {size:.1} % apart, and there are too few runs for a confidence interval."
            ),
        ),
        Some((low, high)) if !change.is_significant() => (
            "finding unsure",
            format!(
                "No difference between B and A can be told: the change is {low:+.1} % to {high:+.1} % with 95 % confidence."
            ),
        ),
        Some((low, high)) => (
            if percent > 0.0 { "finding bad" } else { "finding good" },
            format!("B is {size:.1} % {word} than A: the change is {low:+.1} % to {high:+.1} % with 95 % confidence."),
        ),
    }
}

/// Returns a note on a machine that was slower on one side. The argument is the smallest and the largest factor by
/// which a fixed piece of work took longer during B.
fn machine((least, most): (f64, f64)) -> Option<String> {
    /// The usual variation of a machine from one moment to the next.
    const USUAL: f64 = 1.05;
    let middle = (least * most).sqrt();
    let (side, times) = match middle {
        middle if least > USUAL => ("B", middle),
        middle if most < USUAL.recip() => ("A", middle.recip()),
        _ => return None,
    };
    Some(format!(
        "The machine was {times:.1} times slower in {side}: a fixed piece of work between the runs took that much longer. The intervals allow for it."
    ))
}

fn side(html: &mut Html, name: &'static str, side: &Side) {
    html.within("div", &[], |html| {
        html.element("dt", &[], name);
        html.element("dd", &[("class", "number small")], side.path.file_name().unwrap_or_default().to_string_lossy());
        let engine = &side.engine;
        html.element(
            "dd",
            &[("class", "note")],
            format!("{} {}, {} runs", engine.name, engine.version, count(side.runs)),
        );
    });
}

fn total(html: &mut Html, what: &'static str, change: &Change) {
    html.within("div", &[("class", verdict(change))], |html| {
        html.element("dt", &[], what);
        html.element("dd", &[("class", "number")], change.percent.map_or_else(|| "–".to_owned(), signed_percent));
        let word = match (verdict(change), change.difference_interval_ns) {
            ("same", None) => "too few runs to tell",
            ("same", Some(_)) => "no difference can be told",
            (word, _) => word,
        };
        html.element("dd", &[("class", "note")], word);
        let sides = [change.a_ns, change.b_ns].map(|nanos| nanos.map_or_else(|| "none".to_owned(), duration));
        html.element("dd", &[("class", "note")], format!("{} to {}", sides[0], sides[1]));
        if let Some((low, high)) = change.percent_interval {
            let text = format!("{} to {} with 95 % confidence", signed_percent(low), signed_percent(high));
            html.element("dd", &[("class", "note")], text);
        }
    });
}

/// Returns the style class of a change, which says whether the whole interval is on one side of no change.
fn verdict(change: &Change) -> &'static str {
    match (change.is_significant(), change.difference_ns > 0.0) {
        (false, _) => "same",
        (true, true) => "slower",
        (true, false) => "faster",
    }
}

fn surroundings(html: &mut Html, comparison: &TimesComparison) {
    if comparison.surroundings.is_empty() {
        html.element("p", &[("class", "description")], "Nothing that was recorded of the surroundings differs.");
        return;
    }
    html.element("h3", &[], "What else differs");
    html.within("table", &[("class", "facts")], |html| {
        html.raw("<thead><tr><th scope=\"col\">What</th><th scope=\"col\">A</th><th scope=\"col\">B</th></tr></thead>");
        html.within("tbody", &[], |html| {
            for difference in &comparison.surroundings {
                html.within("tr", &[], |html| {
                    html.element("th", &[("scope", "row")], &difference.what);
                    for side in [&difference.a, &difference.b] {
                        html.element("td", &[], side.as_deref().unwrap_or("not said"));
                    }
                });
            }
        });
    });
}

fn operators(html: &mut Html, comparison: &TimesComparison) {
    if comparison.operators.is_empty() {
        return;
    }
    html.element("h3", &[], "Operators, the largest difference first");
    let columns: &[Column] = &[
        Column { title: "Operator", is_number: false },
        Column { title: "Type", is_number: false },
        Column { title: "A", is_number: true },
        Column { title: "B", is_number: true },
        Column { title: "Difference", is_number: true },
        Column { title: "95 % interval", is_number: true },
        Column { title: "Change", is_number: true },
    ];
    let rows = &comparison.operators[..comparison.operators.len().min(MOST_ROWS)];
    let caption = match comparison.operators.len() - rows.len() {
        0 => "Medians over runs. What is in bold differs with 95 % confidence.".to_owned(),
        left => format!(
            "Medians over runs. What is in bold differs with 95 % confidence. {} more differ less.",
            count(left as u64)
        ),
    };
    let most = rows.iter().map(|row| row.change.cost()).fold(0.0, f64::max);
    table(html, "compared", &caption, columns, rows.len(), |html| {
        rows.iter().for_each(|change| row(html, change, most))
    });
}

fn row(html: &mut Html, row: &OperatorChange, most: f64) {
    let change = &row.change;
    html.within("tr", &[("class", verdict(change))], |html| {
        html.within("th", &[("scope", "row")], |html| {
            html.text(row.operators.first().map_or("?", String::as_str));
            let mut details = Vec::new();
            if row.operators.len() > 1 {
                details.push(format!("with {}", row.operators[1..].join(", ")));
            }
            if !row.presence.label().is_empty() {
                details.push(row.presence.label().to_owned());
            }
            if row.added {
                details.push("added by the engine".to_owned());
            }
            if !details.is_empty() {
                html.element("small", &[], details.join("; "));
            }
        });
        html.element("td", &[], &row.op_type);
        for side in [change.a_ns, change.b_ns] {
            number(html, side.unwrap_or(-1.0), side.map_or_else(|| "–".to_owned(), duration));
        }
        html.within("td", &[("class", "n"), ("data-v", &trimmed(change.difference_ns))], |html| {
            html.text(signed_duration(change.difference_ns));
            bar(html, change.difference_ns, most);
        });
        let interval = change.difference_interval_ns;
        number(
            html,
            interval.map_or(0.0, |(low, _)| low),
            interval.map_or_else(
                || "–".to_owned(),
                |(low, high)| format!("{} to {}", signed_duration(low), signed_duration(high)),
            ),
        );
        number(html, change.percent.unwrap_or(0.0), change.percent.map_or_else(|| "–".to_owned(), signed_percent));
    });
}

/// Writes a bar: to the left of the middle for an operator that became faster, to the right for one that became slower.
fn bar(html: &mut Html, difference: f64, most: f64) {
    let width = if most > 0.0 { (difference.abs() / most * 50.0).clamp(0.0, 50.0) } else { 0.0 };
    let (x, width) =
        (format!("{}%", trimmed(if difference < 0.0 { 50.0 - width } else { 50.0 })), format!("{}%", trimmed(width)));
    let class = if difference < 0.0 { "down" } else { "up" };
    html.within("svg", &[("class", "bar"), ("aria-hidden", "true")], |html| {
        html.within("rect", &[("x", &x), ("width", &width), ("height", "100%"), ("class", class)], |_| {});
    });
}

fn signed_duration(nanos: f64) -> String {
    if nanos > 0.0 { format!("+{}", duration(nanos)) } else { duration(nanos) }
}

fn signed_percent(percent: f64) -> String {
    format!("{percent:+.2} %")
}

#[cfg(test)]
mod tests {
    use opscope_job::compare::times::Presence;

    use super::*;

    fn written(with: impl FnOnce(&mut Html)) -> String {
        let mut html = Html::default();
        with(&mut html);
        html.finish()
    }

    #[test]
    fn a_bar_goes_from_the_middle_to_the_left_for_what_became_faster() {
        let of = |difference, most| {
            let html = written(|html| bar(html, difference, most));
            html.split("<rect ").nth(1).and_then(|rest| rest.split('>').next()).unwrap_or("").to_owned()
        };
        let expected = |x: &str, width: &str, class: &str| {
            format!("x=\"{x}%\" width=\"{width}%\" height=\"100%\" class=\"{class}\"")
        };
        assert_eq!(of(-5.0, 10.0), expected("25", "25", "down"));
        assert_eq!(of(2.5, 10.0), expected("50", "12.5", "up"));
        assert_eq!(of(-20.0, 10.0), expected("0", "50", "down"));
        assert_eq!([of(0.0, 10.0), of(3.0, 0.0)], [expected("50", "0", "up"), expected("50", "0", "up")]);
    }

    #[test]
    fn a_row_has_both_sides_and_is_marked_where_it_differs() {
        let change = |a_ns, b_ns, difference_ns, interval, percent| Change {
            a_ns,
            b_ns,
            a_interval_ns: None,
            b_interval_ns: None,
            difference_ns,
            difference_interval_ns: interval,
            percent,
            percent_interval: interval,
        };
        let of = |operators: &[&str], change| {
            let row = OperatorChange {
                operators: operators.iter().map(ToString::to_string).collect(),
                op_type: "Conv".to_owned(),
                added: operators.is_empty(),
                presence: Presence::Both,
                a_kernels: Vec::new(),
                b_kernels: Vec::new(),
                change,
            };
            written(|html| super::row(html, &row, 200.0))
        };
        let cell = |sorted: &str, text: &str| format!("<td class=\"n\" data-v=\"{sorted}\">{text}</td>");
        let slower = of(&["/a", "/b", "/c"], change(Some(100.0), Some(150.0), 50.0, Some((40.0, 60.0)), Some(50.0)));
        assert!(
            slower.starts_with("<tr class=\"slower\"><th scope=\"row\">/a<small>with /b, /c</small></th>"),
            "{slower}"
        );
        assert!(slower.contains(&(cell("100", "100 ns") + &cell("150", "150 ns"))), "{slower}");
        assert!(slower.contains("data-v=\"50\">+50 ns<svg") && slower.contains("width=\"12.5%\""), "{slower}");
        assert!(slower.ends_with(&(cell("40", "+40 ns to +60 ns") + &cell("50", "+50.00 %") + "</tr>")), "{slower}");
        let gone = of(&["/a"], change(Some(100.0), None, -100.0, Some((-110.0, -90.0)), None));
        assert!(gone.starts_with("<tr class=\"faster\"><th scope=\"row\">/a</th>"), "{gone}");
        assert!(gone.contains(&cell("-1", "–")) && gone.ends_with(&(cell("0", "–") + "</tr>")), "{gone}");
        let unsure = of(&[], change(None, None, 5.0, None, None));
        assert!(
            unsure.starts_with("<tr class=\"same\"><th scope=\"row\">?<small>added by the engine</small>"),
            "{unsure}"
        );
        let total = |change| written(|html| total(html, "Median run", &change));
        let shown = total(change(Some(100.0), Some(150.0), 50.0, Some((40.0, 60.0)), Some(50.0)));
        for text in [
            "class=\"slower\"",
            ">+50.00 %<",
            ">slower<",
            ">100 ns to 150 ns<",
            ">+40.00 % to +60.00 % with 95 % confidence<",
        ] {
            assert!(shown.contains(text), "{text} is not in {shown}");
        }
        assert!(total(change(None, Some(1.0), 1.0, None, None)).contains(">too few runs to tell<"));
        let same = total(change(Some(1.0), Some(1.0), 0.0, Some((-1.0, 1.0)), Some(0.0)));
        assert!(same.contains(">no difference can be told<"), "{same}");
    }

    #[test]
    fn the_verdict_is_said_in_words() {
        let change = |percent: f64, interval: Option<(f64, f64)>| Change {
            a_ns: Some(100.0),
            b_ns: Some(100.0 + percent),
            a_interval_ns: None,
            b_interval_ns: None,
            difference_ns: percent,
            difference_interval_ns: interval,
            percent: Some(percent),
            percent_interval: interval,
        };
        let slower = in_words(&change(12.0, Some((9.0, 15.0))));
        assert_eq!(slower.0, "finding bad");
        assert_eq!(slower.1, "B is 12.0 % slower than A: the change is +9.0 % to +15.0 % with 95 % confidence.");
        assert_eq!(in_words(&change(-12.0, Some((-15.0, -9.0)))).0, "finding good");
        assert!(
            in_words(&change(0.0, None))
                .1
                .starts_with("Whether B is faster than A cannot be told: the medians are 0.0 %")
        );
        assert!(in_words(&change(-12.0, Some((-15.0, -9.0)))).1.starts_with("B is 12.0 % faster than A"));
        assert!(in_words(&change(1.0, Some((-1.0, 3.0)))).1.starts_with("No difference between B and A can be told"));
        assert!(in_words(&change(1.0, None)).1.contains("too few runs for a confidence interval"));
    }

    #[test]
    fn a_machine_that_was_slower_on_one_side_is_named() {
        assert_eq!([(0.97, 1.06), (1.05, 1.2), (0.9, 0.953)].map(machine), [None, None, None]);
        assert!(machine((1.051, 1.2)).is_some_and(|text| text.contains("1.1 times slower in B")));
        assert!(machine((0.9, 0.952)).is_some_and(|text| text.contains("1.1 times slower in A")));
        assert!(machine((2.2, 2.6)).is_some_and(|text| text.starts_with("The machine was 2.4 times slower in B: ")));
        assert!(machine((0.45, 0.55)).is_some_and(|text| text.starts_with("The machine was 2.0 times slower in A: ")));
    }

    #[test]
    fn changes_have_their_signs() {
        assert_eq!([1.0, 0.0, -12.345].map(signed_percent), ["+1.00 %", "+0.00 %", "-12.35 %"].map(str::to_owned));
        assert_eq!(
            [1_500.0, 0.0, -1_500.0].map(signed_duration),
            ["+1.500 µs", "0 ns", "-1.500 µs"].map(str::to_owned)
        );
    }
}
