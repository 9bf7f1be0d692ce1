//! The HTML.

mod commands;
mod comparison;
mod dump;
mod graph;
mod html;
mod latency;
mod layers;
mod memory;
mod operators;
mod overview;
mod precision;
mod roofline;
mod timeline;
mod values;

use std::path::Path;

use opscope_job::compare::times::{TimesComparison, TimesError};

use self::html::Html;
use crate::ReportError;
use crate::facts::{RunFacts, ValuesComparison};

/// A run on the page.
struct RunOnPage<'a> {
    run: &'a RunFacts,
    /// The prefix of the ids of its sections.
    prefix: String,
    /// The directory that its commands are for.
    directory: &'a Path,
}

/// A section of a run: the suffix of its id, its title, and the function that writes it.
struct Section {
    id: &'static str,
    title: &'static str,
    /// Whether it needs the full width.
    is_wide: bool,
    write: fn(&mut Html, &RunOnPage<'_>) -> Result<(), ReportError>,
    /// Returns whether there is anything to show.
    is_there: fn(&RunFacts) -> bool,
}

/// The sections of a run, in order. A new one is a line here and a file beside this one.
const SECTIONS: &[Section] = &[
    Section {
        id: "summary",
        title: "Summary",
        is_wide: true,
        write: overview::summary,
        is_there: |run| !run.is_only_a_search(),
    },
    Section {
        id: "precision",
        title: "Precision",
        is_wide: true,
        write: precision::section,
        is_there: |run| run.precision.is_some(),
    },
    Section { id: "latency", title: "Latency", is_wide: true, write: latency::section, is_there: latency::is_there },
    Section {
        id: "graph",
        title: "Graph",
        is_wide: true,
        write: graph::section,
        is_there: |run| run.picture.is_some(),
    },
    Section {
        id: "timeline",
        title: "One run",
        is_wide: true,
        write: timeline::section,
        is_there: |run| run.timeline.is_some(),
    },
    Section {
        id: "operators",
        title: "Operators",
        is_wide: true,
        write: operators::section,
        is_there: |run| !run.operators.rows.is_empty(),
    },
    Section {
        id: "layers",
        title: "Layers",
        is_wide: true,
        write: layers::section,
        is_there: |run| run.layers.as_ref().is_some_and(|tree| !tree.layers.is_empty()),
    },
    Section {
        id: "roofline",
        title: "Roofline",
        is_wide: true,
        write: roofline::section,
        is_there: roofline::is_there,
    },
    Section {
        id: "memory",
        title: "Memory",
        is_wide: true,
        write: memory::section,
        is_there: |run| run.memory.is_some(),
    },
    Section { id: "dump", title: "Tensors", is_wide: true, write: dump::section, is_there: |run| run.dump.is_some() },
    Section {
        id: "surroundings",
        title: "Surroundings",
        is_wide: false,
        write: overview::surroundings,
        is_there: |run| !run.surroundings.0.is_empty(),
    },
    Section { id: "commands", title: "See more", is_wide: false, write: commands::section, is_there: |_| true },
];

/// The comparison of two runs, or why they cannot be compared.
type Compared<'a> = Option<&'a Result<TimesComparison, TimesError>>;

/// Returns the page for a directory, with some runs and the comparison of two of them.
pub(crate) fn page(
    runs: &[RunFacts],
    compared: Compared<'_>,
    values: Option<&ValuesComparison>,
    directory: &Path,
) -> Result<String, ReportError> {
    let place = |(index, run)| RunOnPage { run, prefix: format!("r{}", index + 1), directory };
    let places: Vec<RunOnPage<'_>> = runs.iter().enumerate().map(place).collect();
    let mut html = Html::default();
    html.raw("<!doctype html>\n<html lang=\"en\">\n");
    html.within("head", &[], |html| head(html, runs));
    let mut outcome = Ok(());
    html.within("body", &[], |html| {
        html.raw("<a class=\"skip\" href=\"#main\">Skip to the content</a>");
        html.within("header", &[], |html| header(html, runs));
        let class = if runs.len() == 1 { "one" } else { "several" };
        html.within("nav", &[("aria-label", "Sections"), ("class", class)], |html| {
            navigation(html, &places, compared, values)
        });
        html.within("main", &[("id", "main")], |html| {
            if let Some(compared) = compared {
                a_against_b(html, compared);
            }
            if let Some(values) = values {
                against_reference(html, values, directory);
            }
            outcome = places.iter().try_for_each(|place| article(html, place));
        });
        html.within("footer", &[], |html| {
            html.text(format!("Made by opscope {}. This page loads nothing.", env!("CARGO_PKG_VERSION")));
        });
        html.within("script", &[], |html| html.raw(html::SCRIPT));
    });
    outcome?;
    html.raw("</html>\n");
    Ok(html.finish())
}

fn head(html: &mut Html, runs: &[RunFacts]) {
    html.void("meta", &[("charset", "utf-8")]);
    html.void("meta", &[("http-equiv", "Content-Security-Policy"), ("content", html::POLICY)]);
    html.void("meta", &[("name", "viewport"), ("content", "width=device-width, initial-scale=1")]);
    html.void("meta", &[("name", "color-scheme"), ("content", "light dark")]);
    html.void("meta", &[("name", "generator"), ("content", concat!("opscope ", env!("CARGO_PKG_VERSION")))]);
    // Without this, a browser would request an icon.
    html.void("link", &[("rel", "icon"), ("href", "data:,")]);
    html.element("title", &[], title(runs));
    html.within("style", &[], |html| html.raw(html::STYLE));
}

fn title(runs: &[RunFacts]) -> String {
    let first = runs.first().map_or("nothing", |run| model_name(run));
    match runs.len() {
        0 | 1 => format!("{first}: opscope report"),
        more => format!("{first} and {} more: opscope report", more - 1),
    }
}

/// Returns the model's file name, or the run's name if the model is unknown.
fn model_name(run: &RunFacts) -> &str {
    let model = run.model.as_deref().unwrap_or(&run.name);
    model.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(model)
}

fn header(html: &mut Html, runs: &[RunFacts]) {
    html.raw("<p class=\"brand\">opscope report</p>");
    html.within("h1", &[], |html| match runs {
        [run] => html.text(model_name(run)),
        runs => html.text(format!("{} runs", runs.len())),
    });
}

/// Writes the section that compares two runs.
fn a_against_b(html: &mut Html, compared: &Result<TimesComparison, TimesError>) {
    let class = [("id", "comparison"), ("class", "compared"), ("aria-labelledby", "comparison-title")];
    html.within("section", &class, |html| {
        html.element("h2", &[("id", "comparison-title")], "A against B");
        match compared {
            Ok(comparison) => comparison::section(html, comparison),
            Err(error) => html.element("p", &[("class", "finding bad")], format!("They cannot be compared: {error}")),
        }
    });
}

/// Writes the section that compares two dumps.
fn against_reference(html: &mut Html, values: &ValuesComparison, directory: &Path) {
    let class = [("id", "values"), ("class", "compared"), ("aria-labelledby", "values-title")];
    html.within("section", &class, |html| {
        let title = format!("Tensors of {} against {}, the reference", values.run.0, values.reference.0);
        html.element("h2", &[("id", "values-title")], title);
        values::section(html, values, directory);
    });
}

fn navigation(html: &mut Html, places: &[RunOnPage<'_>], compared: Compared<'_>, values: Option<&ValuesComparison>) {
    if compared.is_some() {
        html.raw("<a class=\"run\" href=\"#comparison\">A against B</a>");
    }
    if values.is_some() {
        html.raw("<a class=\"run\" href=\"#values\">Tensors compared</a>");
    }
    for place in places {
        let several = places.len() > 1;
        if several {
            let id = format!("#{}", place.prefix);
            html.element("a", &[("href", &id), ("class", "run")], &place.run.name);
        }
        html.within("ul", &[], |html| {
            for section in sections(place) {
                let id = format!("#{}-{}", place.prefix, section.id);
                html.within("li", &[], |html| html.element("a", &[("href", &id)], section.title));
            }
        });
    }
}

fn sections<'a>(place: &RunOnPage<'a>) -> impl Iterator<Item = &'static Section> + use<'a> {
    let run = place.run;
    SECTIONS.iter().filter(move |section| (section.is_there)(run))
}

fn article(html: &mut Html, place: &RunOnPage<'_>) -> Result<(), ReportError> {
    let run = place.run;
    let mut outcome = Ok(());
    let heading = format!("{}-heading", place.prefix);
    html.within("article", &[("id", &place.prefix), ("aria-labelledby", &heading)], |html| {
        html.within("div", &[("class", "heading")], |html| {
            html.element("h2", &[("id", &heading)], &run.name);
            if run.model.is_some() {
                html.element("span", &[("class", "of")], model_name(run));
            }
            let (class, text) =
                if run.problems.is_empty() { ("state good", "complete") } else { ("state bad", "incomplete") };
            html.element("span", &[("class", class)], text);
        });
        problems(html, run);
        html.within("div", &[("class", "sections")], |html| {
            outcome = sections(place).try_for_each(|section| {
                let id = format!("{}-{}", place.prefix, section.id);
                let title = format!("{id}-title");
                let class = if section.is_wide { "wide" } else { "half" };
                let mut written = Ok(());
                html.within("section", &[("id", &id), ("class", class), ("aria-labelledby", &title)], |html| {
                    html.element("h3", &[("id", &title)], section.title);
                    written = (section.write)(html, place);
                });
                written
            });
        });
    });
    outcome
}

/// How many problems are shown at most.
const MOST_PROBLEMS: usize = 20;

fn problems(html: &mut Html, run: &RunFacts) {
    for (list, class) in [(&run.problems, "problems"), (&run.notes, "notes")] {
        if list.is_empty() {
            continue;
        }
        html.within("ul", &[("class", class)], |html| {
            list.iter().take(MOST_PROBLEMS).for_each(|problem| html.element("li", &[], problem));
            if list.len() > MOST_PROBLEMS {
                html.element("li", &[], format!("and {} more", list.len() - MOST_PROBLEMS));
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str, model: Option<&str>) -> RunFacts {
        RunFacts { name: name.to_owned(), model: model.map(str::to_owned), ..RunFacts::default() }
    }

    #[test]
    fn a_page_is_named_after_the_first_model() {
        let runs = [run("a", Some("models/one.onnx")), run("b", None), run("c", Some("models/"))];
        assert_eq!([0, 1, 2].map(|index: usize| model_name(&runs[index])), ["one.onnx", "b", "models/"]);
        let titles = [0, 1, 2, 3].map(|number: usize| title(&runs[..number]));
        let expected = ["nothing", "one.onnx", "one.onnx and 1 more", "one.onnx and 2 more"];
        assert_eq!(titles, expected.map(|title| format!("{title}: opscope report")));
    }

    #[test]
    fn twenty_problems_are_shown() {
        let of = |number: usize| {
            let mut html = Html::default();
            problems(&mut html, &RunFacts { problems: vec!["bad".to_owned(); number], ..RunFacts::default() });
            let html = html.finish();
            (html.matches("<li>").count(), html.contains("<li>and 2 more</li>"))
        };
        assert_eq!([0, 20, 22].map(of), [(0, false), (20, false), (21, true)]);
    }
}
