//! The operators as a tree, by the paths in their names.

use opscope_profile::Layer;

use super::RunOnPage;
use super::html::Html;
use super::overview::bar;
use crate::ReportError;
use crate::units::{count, duration, percent, trimmed};

/// How many layers a page shows at most: of each layer those that take the most time.
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
