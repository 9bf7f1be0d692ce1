//! HTML as it is written, and the style, script and policy of the page.

use std::fmt::{self, Write};

use opscope_text::shown_text;

use crate::chart::{Chart, Spot};

/// The page while it is being written. Markup comes only from string literals; every other text is escaped, so that no
/// name of a model can become markup.
#[derive(Debug, Default)]
pub(crate) struct Html {
    text: String,
}

/// The attributes of an element.
pub(crate) type Attributes<'a> = &'a [(&'static str, &'a str)];

impl Html {
    /// Writes an element, and inside it what `content` writes.
    pub(crate) fn within(&mut self, tag: &'static str, attributes: Attributes<'_>, content: impl FnOnce(&mut Self)) {
        self.open(tag, attributes);
        content(self);
        let _ = write!(self.text, "</{tag}>");
    }

    /// Writes an element that contains a text.
    pub(crate) fn element(&mut self, tag: &'static str, attributes: Attributes<'_>, text: impl fmt::Display) {
        self.within(tag, attributes, |html| html.text(text));
    }

    /// Writes an element without content and end tag.
    pub(crate) fn void(&mut self, tag: &'static str, attributes: Attributes<'_>) {
        self.open(tag, attributes);
    }

    /// Writes a text.
    pub(crate) fn text(&mut self, text: impl fmt::Display) {
        let _ = write!(Escape(&mut self.text), "{}", shown_text(&text.to_string()));
    }

    /// Writes the program's own markup.
    pub(crate) fn raw(&mut self, markup: &'static str) {
        self.text.push_str(markup);
    }

    /// Writes a chart, which contains only the program's own numbers and words.
    pub(crate) fn chart(&mut self, chart: &Chart, id: &str) {
        // Invisible characters are escaped first, because JSON escapes them in another form.
        let rounded = |place: f64| (place * 1e4).round() / 1e4;
        let spot = |spot: &Spot| (rounded(spot.place), shown_text(&spot.text).into_owned(), spot.height.map(rounded));
        let hover: Vec<_> = chart.hover.iter().map(spot).collect();
        let hover = serde_json::to_string(&hover).unwrap_or_default();
        let (title, description) = (format!("{id}-title"), format!("{id}-description"));
        let labels = format!("{title} {description}");
        self.within("figure", &[("class", "chart"), ("data-hover", &hover)], |html| {
            html.within("figcaption", &[], |html| {
                html.element("span", &[("class", "title"), ("id", &title)], &chart.title);
                html.element("span", &[("class", "description"), ("id", &description)], &chart.description);
            });
            for (class, drawing) in [("wide", &chart.wide), ("narrow", &chart.narrow)] {
                let view = format!("0 0 {} {}", drawing.width, drawing.height);
                let (plot, rows) = (&drawing.plot, &drawing.rows);
                let plot = format!("{} {} {} {}", plot.start, plot.end, rows.start, rows.end);
                let attributes: Attributes<'_> = &[
                    ("class", class),
                    ("viewBox", &view),
                    ("role", "img"),
                    ("aria-labelledby", &labels),
                    ("data-plot", &plot),
                ];
                html.within("svg", attributes, |html| {
                    html.element("title", &[], &chart.title);
                    html.element("desc", &[], &chart.description);
                    html.text.push_str(&drawing.content);
                });
            }
            html.element("output", &[], "");
        });
    }

    fn open(&mut self, tag: &'static str, attributes: Attributes<'_>) {
        let _ = write!(self.text, "<{tag}");
        for (name, value) in attributes {
            let _ = write!(self.text, " {name}=\"");
            let _ = write!(Escape(&mut self.text), "{}", shown_text(value));
            self.text.push('"');
        }
        self.text.push('>');
    }

    /// Returns the page.
    pub(crate) fn finish(self) -> String {
        self.text
    }
}

/// Escapes characters with a meaning in HTML, in texts and in attributes.
struct Escape<'a>(&'a mut String);

impl Write for Escape<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for letter in text.chars() {
            match letter {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                '`' => self.0.push_str("&#96;"),
                letter => self.0.push(letter),
            }
        }
        Ok(())
    }
}

/// The only style that the page's policy allows.
pub(super) const STYLE: &str = include_str!("style.css");
/// The only script that the page's policy allows.
pub(super) const SCRIPT: &str = include_str!("script.js");

/// The policy: nothing is loaded, and only the style and the script above are allowed, by their SHA-256.
pub(super) const POLICY: &str = "default-src 'none'; \
     style-src 'sha256-0krm15ADVRFwFFeBIfJ7MTQEml/8JsqCNB7K+eeFPaM='; \
     script-src 'sha256-wJJujy4PrG+ltTDM6pVGe+QeT7Y3c056T0Dwtk50vOM='; \
     img-src data:; base-uri 'none'; form-action 'none'";

#[cfg(test)]
mod tests {
    use base64::Engine;
    use sha2::{Digest, Sha256};

    use super::*;
    use crate::chart::Drawing;

    #[test]
    fn what_a_chart_says_has_places_of_four_digits() {
        let drawing = |width, plot, rows| Drawing { width, height: 100, plot, rows, content: "<g/>".to_owned() };
        let spot = |place, height, text: &str| Spot { place, height, text: text.to_owned() };
        let chart = Chart {
            title: "Title".to_owned(),
            description: "What there is".to_owned(),
            wide: drawing(700, 70..690, 8..90),
            narrow: drawing(300, 30..290, 7..80),
            hover: vec![spot(0.123_456, None, "a"), spot(1.0, Some(0.666_666), "b\u{202e}")],
        };
        let mut html = Html::default();
        html.chart(&chart, "r1-x");
        let html = html.finish();
        let hover = "[[0.1235,&quot;a&quot;,null],[1.0,&quot;b\\\\u{202e}&quot;,0.6667]]";
        assert!(html.contains(&format!("data-hover=\"{hover}\"")), "{html}");
        for plot in ["viewBox=\"0 0 700 100\"", "data-plot=\"70 690 8 90\"", "data-plot=\"30 290 7 80\""] {
            assert!(html.contains(plot), "{plot} is not in {html}");
        }
    }

    #[test]
    fn no_text_and_no_attribute_becomes_markup() {
        let mut html = Html::default();
        let hostile = "</script><img src=x onerror='alert(1)'>\"`&\u{202e}\n";
        html.element("p", &[("title", hostile)], hostile);
        let escaped = "&lt;/script&gt;&lt;img src=x onerror=&#39;alert(1)&#39;&gt;&quot;&#96;&amp;\\u{202e}\\u{a}";
        assert_eq!(html.finish(), format!("<p title=\"{escaped}\">{escaped}</p>"));
    }

    #[test]
    fn the_policy_allows_the_style_and_the_script_and_nothing_else() {
        let hash = |text: &str| base64::engine::general_purpose::STANDARD.encode(Sha256::digest(text));
        let (style, script) = (hash(STYLE), hash(SCRIPT));
        let expected = format!(
            "default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{script}'; \
             img-src data:; base-uri 'none'; form-action 'none'"
        );
        assert_eq!(POLICY, expected);
        assert!(!STYLE.contains("url(") && !STYLE.contains("@import") && !STYLE.contains("</"), "it loads nothing");
        for forbidden in ["</", "<!--", "innerHTML", "eval(", "fetch(", "import("] {
            assert!(!SCRIPT.contains(forbidden), "the script has {forbidden}");
        }
    }
}
