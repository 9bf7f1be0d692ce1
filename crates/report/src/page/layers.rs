//! The section with the operators as a tree, by the paths in their names.

use opscope_profile::Layer;

use super::RunOnPage;
use super::html::Html;
use super::overview::bar;
use crate::ReportError;
use crate::units::{count, duration, percent, trimmed};

/// How many layers a page shows at most. Within a layer, those that take the most time are shown.
const MOST_LAYERS: usize = 1_500;
/// Layers that take less than this share of the time, in percent, are closed at first.
const OPENED: f64 = 25.0;

pub(super) fn section(html: &mut Html, place: &RunOnPage<'_>) -> Result<(), ReportError> {
    let Some(tree) = &place.run.layers else { return Ok(()) };
    let text = "Operators by the paths in their names, the slowest layer first. A layer holds what lies in it. Its time is the sum of medians.";
    html.element("p", &[("class", "description")], text);
    let mut left = MOST_LAYERS;
    html.within("ul", &[("class", "tree")], |html| {
        tree.layers.iter().for_each(|layer| self::layer(html, layer, "", 0, &mut left));
    });
    if left == 0 {
        html.element("p", &[("class", "description")], format!("Only {} layers are shown.", count(MOST_LAYERS as u64)));
    }
    Ok(())
}

fn layer(html: &mut Html, layer: &Layer, above: &str, depth: usize, left: &mut usize) {
    if *left == 0 {
        return;
    }
    *left -= 1;
    let name = layer.path.strip_prefix(above).unwrap_or(&layer.path);
    html.within("li", &[], |html| {
        if layer.layers.is_empty() {
            html.within("div", &[("class", "layer")], |html| line(html, layer, name));
            return;
        }
        let open: &[(&'static str, &str)] = if depth == 0 || layer.percent >= OPENED { &[("open", "")] } else { &[] };
        html.within("details", open, |html| {
            html.within("summary", &[("class", "layer")], |html| line(html, layer, name));
            html.within("ul", &[], |html| {
                layer.layers.iter().for_each(|inner| self::layer(html, inner, &layer.path, depth + 1, left));
            });
        });
    });
}

fn line(html: &mut Html, layer: &Layer, name: &str) {
    html.element("span", &[("class", "name")], name);
    let mut numbers = format!("{} · {}", percent(layer.percent), duration(layer.median_ns));
    if let Some(rate) = layer.gflops_per_s {
        numbers.push_str(&format!(" · {} GFLOP/s", trimmed(rate)));
    }
    let operators =
        if layer.operators == 1 { "1 operator".to_owned() } else { format!("{} operators", count(layer.operators)) };
    html.element("span", &[("class", "numbers")], format!("{numbers} · {operators}"));
    bar(html, layer.percent, "c0");
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::facts::RunFacts;

    fn tree(path: &str, percent: f64, layers: Vec<Layer>) -> Layer {
        Layer { path: path.to_owned(), percent, median_ns: percent * 100.0, operators: 2, layers, ..Layer::default() }
    }

    fn written(layers: Vec<Layer>) -> String {
        let run = RunFacts { layers: Some(tree("", 100.0, layers)), ..RunFacts::default() };
        let mut html = Html::default();
        section(&mut html, &RunOnPage { run: &run, prefix: "r1".to_owned(), directory: Path::new(".") })
            .expect("no chart");
        html.finish()
    }

    #[test]
    fn layers_stand_within_each_other_and_those_that_take_a_quarter_are_open() {
        let inner = |path: &str, percent| tree(path, percent, vec![tree(&format!("{path}/z"), 1.0, Vec::new())]);
        let html =
            written(vec![tree("/a", 10.0, vec![inner("/a/b", 24.9), inner("/a/c", 25.0), tree("/x", 3.0, vec![])])]);
        let names = |html: &str| -> Vec<String> {
            let names = html.split("class=\"name\">").skip(1);
            names.filter_map(|rest| Some(rest.split('<').next()?.to_owned())).collect()
        };
        assert_eq!(names(&html), ["/a", "/b", "/z", "/c", "/z", "/x"]);
        let opened: Vec<Vec<String>> =
            html.split("<details").skip(1).filter(|rest| rest.starts_with(" open")).map(names).collect();
        assert_eq!(opened.iter().map(|names| names[0].as_str()).collect::<Vec<_>>(), ["/a", "/c"]);
        assert!(html.contains(">25.00 % · 2.500 µs · 2 operators<"), "{html}");
        assert!(!html.contains("layers are shown"));
    }

    #[test]
    fn a_layer_says_how_fast_it_computes_and_one_operator_is_no_plural() {
        let layer = Layer { gflops_per_s: Some(1.5), operators: 1, ..tree("/a", 0.5, Vec::new()) };
        let html = written(vec![layer]);
        assert!(html.contains(">0.50 % · 50 ns · 1.5 GFLOP/s · 1 operator<"), "{html}");
        assert!(html.contains("<rect width=\"0.5%\"") && !html.contains("<details"), "{html}");
    }

    #[test]
    fn fifteen_hundred_layers_are_shown() {
        let of = |layers: usize| {
            let html = written((0..layers).map(|index| tree(&format!("/{index}"), 0.0, Vec::new())).collect());
            (html.matches("<li>").count(), html.contains("Only 1\u{202f}500 layers are shown."))
        };
        assert_eq!([1_499, 1_501].map(of), [(1_499, false), (1_500, true)]);
    }
}
