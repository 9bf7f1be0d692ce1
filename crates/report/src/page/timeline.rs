//! The section with one run in full: zoomable rows of what each thread did.

use super::RunOnPage;
use super::html::Html;
use crate::ReportError;
use crate::facts::{Lane, Slot, SlotContent, Timeline};
use crate::units::{count, cut, duration, trimmed};

/// The height of a row, in em.
const ROW: f64 = 1.9;
/// The height of the axis, in em.
const AXIS: f64 = 1.6;
/// The number of colours for operator types.
const COLOURS: usize = 8;

pub(super) fn section(html: &mut Html, place: &RunOnPage<'_>) -> Result<(), ReportError> {
    let Some(timeline) = &place.run.timeline else { return Ok(()) };
    let colours = Colours::of(timeline);
    let id = format!("{}-timeline-hint", place.prefix);
    html.element("p", &[("class", "description")], about(timeline));
    let length = trimmed(timeline.nanos);
    html.within("figure", &[("class", "timeline"), ("data-nanos", &length)], |html| {
        html.raw("<div class=\"controls\"><button type=\"button\" data-zoom=\"in\">Zoom in</button><button type=\"button\" data-zoom=\"out\">Zoom out</button><button type=\"button\" data-zoom=\"left\" aria-label=\"Move left\">←</button><button type=\"button\" data-zoom=\"right\" aria-label=\"Move right\">→</button><button type=\"button\" data-zoom=\"all\">Whole run</button></div>");
        html.within("div", &[("class", "lanes")], |html| {
            html.within("div", &[("class", "names"), ("aria-hidden", "true")], |html| {
                timeline.lanes.iter().for_each(|lane| html.element("span", &[("title", &lane.name)], &lane.name));
            });
            let label = format!("Timeline of run {}: {}", timeline.run, about(timeline));
            let view = [("class", "view"), ("tabindex", "0"), ("role", "group"), ("aria-label", &*label), ("aria-describedby", &*id)];
            html.within("div", &view, |html| drawing(html, timeline, &colours));
        });
        html.within("p", &[("class", "hint"), ("id", &id)], |html| {
            html.text("Drag to select a part, or use the keys + and − to zoom, ← and → to move, 0 for the whole run. The table of operators holds the same times.");
        });
        html.raw("<output aria-live=\"polite\"></output>");
        legend(html, timeline, &colours);
    });
    Ok(())
}

fn about(timeline: &Timeline) -> String {
    let (start, end) = timeline.engine;
    format!(
        "Run {}, the one nearest to the median: {} dispatches in {}, with its copies {}.",
        timeline.run,
        count(timeline.dispatches as u64),
        duration(end - start),
        duration(timeline.nanos)
    )
}

fn drawing(html: &mut Html, timeline: &Timeline, colours: &Colours) {
    let height = format!("{}em", trimmed(AXIS + ROW * timeline.lanes.len() as f64));
    html.within("svg", &[("width", "100%"), ("height", &height), ("aria-hidden", "true")], |html| {
        html.within("g", &[("class", "axis")], |html| {
            for tick in 0..=4 {
                let at = format!("{}%", tick * 25);
                let anchor = ["start", "middle", "middle", "middle", "end"][tick];
                html.element(
                    "text",
                    &[("x", &at), ("y", "1.1em"), ("text-anchor", anchor)],
                    duration(timeline.nanos * tick as f64 / 4.0),
                );
            }
        });
        for (index, lane) in timeline.lanes.iter().enumerate() {
            let y = format!("{}em", trimmed(AXIS + ROW * index as f64));
            slots(html, timeline, lane, &y, colours);
        }
    });
}

fn slots(html: &mut Html, timeline: &Timeline, lane: &Lane, y: &str, colours: &Colours) {
    let height = format!("{}em", ROW - 0.2);
    let whole = timeline.nanos.max(1.0);
    html.within("svg", &[("y", y), ("height", &height), ("width", "100%"), ("class", "lane")], |html| {
        for slot in &lane.slots {
            let (at, width) = (slot.start / whole * 100.0, slot.nanos / whole * 100.0);
            let (x, wide) = (format!("{}%", place(at)), format!("{}%", place(width)));
            let (class, label) = (colours.class(&slot.what), label(slot));
            html.within("svg", &[("x", &x), ("width", &wide), ("class", &class)], |html| {
                html.element("title", &[], title(slot));
                html.raw("<rect width=\"100%\" height=\"100%\"/>");
                if width >= 3.0 && !label.is_empty() {
                    // About as many letters as fit; only the script knows the actual width.
                    html.element("text", &[("x", "4"), ("y", "1.25em")], cut(label, (width * 1.3) as usize));
                }
            });
        }
    });
}

/// Returns a position in percent, with as many digits as the closest zoom shows.
fn place(percent: f64) -> String {
    let text = format!("{percent:.5}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn label(slot: &Slot) -> &str {
    match &slot.what {
        SlotContent::Operator { name, .. } => name,
        SlotContent::Several(_) => "several",
        SlotContent::Gap => "",
        SlotContent::Upload => "copy in",
        SlotContent::Download => "copy out",
        SlotContent::Range(name) | SlotContent::Mark(name) => name,
    }
}

fn title(slot: &Slot) -> String {
    let times = format!("{} at {}", duration(slot.nanos), duration(slot.start));
    match &slot.what {
        SlotContent::Operator { name, op_type, kernel, fused: 0 } => format!("{name} ({op_type}, {kernel}): {times}"),
        SlotContent::Operator { name, op_type, kernel, fused } => {
            format!("{name} +{fused} fused ({op_type}, {kernel}): {times}")
        }
        SlotContent::Several(dispatches) => format!("{} short dispatches: {times}", count(*dispatches as u64)),
        SlotContent::Gap => format!("nothing was executed: {times}"),
        SlotContent::Upload => format!("inputs were copied in: {times}"),
        SlotContent::Download => format!("outputs were copied out: {times}"),
        SlotContent::Range(name) => format!("range {name}: {times}"),
        SlotContent::Mark(name) => format!("mark {name} at {}", duration(slot.start)),
    }
}

/// The colours of the operator types: those that take the most time have their own.
struct Colours(Vec<String>);

impl Colours {
    fn of(timeline: &Timeline) -> Self {
        let mut types: Vec<(String, f64)> = Vec::new();
        for slot in timeline.lanes.iter().flat_map(|lane| &lane.slots) {
            if let SlotContent::Operator { op_type, .. } = &slot.what {
                match types.iter_mut().find(|(known, _)| known == op_type) {
                    Some((_, nanos)) => *nanos += slot.nanos,
                    None => types.push((op_type.clone(), slot.nanos)),
                }
            }
        }
        types.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        Self(types.into_iter().map(|(op_type, _)| op_type).collect())
    }

    fn class(&self, what: &SlotContent) -> String {
        match what {
            SlotContent::Operator { op_type, .. } => {
                match self.0.iter().take(COLOURS).position(|known| known == op_type) {
                    Some(colour) => format!("s c{colour}"),
                    None => "s other".to_owned(),
                }
            }
            SlotContent::Several(_) => "s several".to_owned(),
            SlotContent::Gap => "s gap".to_owned(),
            SlotContent::Upload | SlotContent::Download => "s copy".to_owned(),
            SlotContent::Range(_) => "s range".to_owned(),
            SlotContent::Mark(_) => "s mark".to_owned(),
        }
    }
}

fn legend(html: &mut Html, timeline: &Timeline, colours: &Colours) {
    html.within("ul", &[("class", "legend"), ("aria-label", "Colours")], |html| {
        for (index, op_type) in colours.0.iter().take(COLOURS).enumerate() {
            let class = format!("key c{index}");
            item(html, &class, op_type);
        }
        if colours.0.len() > COLOURS {
            item(html, "key other", "other types");
        }
        if timeline.lanes.iter().flat_map(|lane| &lane.slots).any(|slot| matches!(slot.what, SlotContent::Several(_))) {
            item(html, "key several", "short dispatches of any type, put together");
        }
        item(html, "key gap", "nothing executed");
        item(html, "key copy", "copies");
    });
}

fn item(html: &mut Html, class: &str, text: &str) {
    html.within("li", &[], |html| {
        html.within("svg", &[("class", class), ("aria-hidden", "true")], |html| {
            html.raw("<rect width=\"100%\" height=\"100%\"/>");
        });
        html.text(text);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operator(op_type: &str, start: f64, nanos: f64) -> Slot {
        let name = format!("/{op_type}/abcdef");
        let what = SlotContent::Operator { name, op_type: op_type.to_owned(), kernel: "k".to_owned(), fused: 0 };
        Slot { start, nanos, what }
    }

    fn timeline(lanes: Vec<Vec<Slot>>) -> Timeline {
        let lane = |slots| Lane { name: "thread 1".to_owned(), slots };
        let lanes = lanes.into_iter().map(lane).collect();
        Timeline { run: 3, nanos: 1_000.0, engine: (100.0, 900.0), lanes, dispatches: 1_234 }
    }

    fn drawn(timeline: &Timeline) -> String {
        let mut html = Html::default();
        drawing(&mut html, timeline, &Colours::of(timeline));
        html.finish()
    }

    #[test]
    fn slots_lie_at_their_part_of_the_run_and_lanes_below_each_other() {
        let timeline = timeline(vec![
            vec![operator("A", 250.0, 500.0), operator("B", 800.0, 30.0)],
            vec![operator("A", 0.0, 29.9)],
        ]);
        let html = drawn(&timeline);
        // The axis is 1.6 em high, a lane 1.9 em.
        assert!(html.starts_with("<svg width=\"100%\" height=\"5.4em\""), "{html}");
        for (at, text) in
            [("0%", "0 ns"), ("25%", "250 ns"), ("50%", "500 ns"), ("75%", "750 ns"), ("100%", "1.000 µs")]
        {
            assert!(
                html.contains(&format!("<text x=\"{at}\" y=\"1.1em\"")) && html.contains(&format!(">{text}</text>")),
                "{at}"
            );
        }
        let lanes: Vec<&str> = html.split("<svg y=\"").skip(1).collect();
        assert!(lanes[0].starts_with("1.6em\" height=\"1.7em\"") && lanes[1].starts_with("3.5em\""), "{lanes:?}");
        assert!(lanes[0].contains("<svg x=\"25%\" width=\"50%\" class=\"s c0\">"), "{html}");
        assert!(lanes[0].contains("<svg x=\"80%\" width=\"3%\" class=\"s c1\">"), "{html}");
        assert!(lanes[1].contains("<svg x=\"0%\" width=\"2.99%\" class=\"s c0\">"), "{html}");
        // 65 letters fit into a half, 3 into 3 %, and none into less.
        assert!(lanes[0].contains(">/A/abcdef</text>") && lanes[0].contains(">/…f</text>"), "{html}");
        assert!(!lanes[1].contains("<text"));
        assert_eq!(
            about(&timeline),
            "Run 3, the one nearest to the median: 1\u{202f}234 dispatches in 800 ns, with its copies 1.000 µs."
        );
    }

    #[test]
    fn places_have_the_digits_of_the_closest_zoom() {
        assert_eq!(
            [0.0, 12.5, 100.0 / 3.0, 1e-5, 1e-6, 100.0].map(place),
            ["0", "12.5", "33.33333", "0.00001", "0", "100"]
        );
    }

    #[test]
    fn the_eight_types_that_take_the_most_time_have_a_colour_each() {
        // A takes 30 + 30, the others 50 to 43; I and J have no colour of their own.
        let types = ["B", "C", "D", "E", "F", "G", "H", "I", "J"];
        let mut slots = vec![operator("A", 0.0, 30.0), operator("A", 30.0, 30.0)];
        slots.extend(types.iter().zip(0u32..).map(|(name, index)| operator(name, 0.0, f64::from(50 - index))));
        let full = timeline(vec![slots.clone()]);
        let colours = Colours::of(&full);
        let class = |op_type: &str| colours.class(&operator(op_type, 0.0, 1.0).what);
        assert_eq!(["A", "B", "H", "I", "J"].map(class), ["s c0", "s c1", "s c7", "s other", "s other"]);
        let legend = |timeline: &Timeline| {
            let mut html = Html::default();
            super::legend(&mut html, timeline, &Colours::of(timeline));
            html.finish()
        };
        let shown = legend(&full);
        assert!(shown.contains("class=\"key c7\"") && !shown.contains("key c8") && shown.contains("other types"));
        slots.truncate(9);
        let shown = legend(&timeline(vec![slots]));
        assert!(shown.contains("class=\"key c7\"") && !shown.contains("other types") && !shown.contains("several"));
        let several = Slot { start: 0.0, nanos: 1.0, what: SlotContent::Several(2) };
        assert!(legend(&timeline(vec![vec![several]])).contains("key several"));
    }

    #[test]
    fn a_title_says_what_a_slot_is_how_long_it_took_and_when() {
        let of = |what| title(&Slot { start: 1_500.0, nanos: 250.0, what });
        let operator =
            |fused| SlotContent::Operator { name: "/a".into(), op_type: "Conv".into(), kernel: "k".into(), fused };
        assert_eq!(of(operator(0)), "/a (Conv, k): 250 ns at 1.500 µs");
        assert_eq!(of(operator(2)), "/a +2 fused (Conv, k): 250 ns at 1.500 µs");
        assert_eq!(of(SlotContent::Several(1_000)), "1\u{202f}000 short dispatches: 250 ns at 1.500 µs");
        assert_eq!(of(SlotContent::Mark("m".into())), "mark m at 1.500 µs");
        assert_eq!(of(SlotContent::Range("r".into())), "range r: 250 ns at 1.500 µs");
        assert_eq!(of(SlotContent::Gap), "nothing was executed: 250 ns at 1.500 µs");
        let label = |what| super::label(&Slot { start: 0.0, nanos: 1.0, what }).to_owned();
        let labels = [
            SlotContent::Several(2),
            SlotContent::Gap,
            SlotContent::Upload,
            SlotContent::Download,
            SlotContent::Mark("m".into()),
        ]
        .map(label);
        assert_eq!(labels, ["several", "", "copy in", "copy out", "m"]);
    }
}
