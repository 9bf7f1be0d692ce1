//! The charts: SVG from plotters, drawn twice, for wide and for narrow screens.
//!
//! The colours are those of the light theme. The page's style recognises them, and replaces them by its variables.

mod latency;
mod magnitude;
mod memory;
mod precision;
mod roofline;
#[cfg(test)]
mod tests;

use std::error::Error;
use std::ops::Range;

use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::{Cartesian2d, DrawingArea, IntoDrawingArea, RGBColor, SVGBackend};
use plotters::style::{Color, FontFamily, FontStyle, IntoTextStyle, TextStyle};

pub(crate) use self::latency::{distribution, over_time};
pub(crate) use self::magnitude::magnitude;
pub(crate) use self::memory::memory;
pub(crate) use self::precision::own_errors;
pub(crate) use self::roofline::roofline;
use crate::ReportError;

/// Text and axes.
const INK: RGBColor = RGBColor(0x1b, 0x24, 0x30);
/// Lines behind the data.
const GRID: RGBColor = RGBColor(0xd9, 0xde, 0xe6);
/// The data.
const DATA: RGBColor = RGBColor(0x2f, 0x6f, 0xd0);
/// The range around the data, such as from the shortest to the longest.
const AROUND: RGBColor = RGBColor(0xa9, 0xc4, 0xec);
/// Marked positions, such as the median.
const MARKED: RGBColor = RGBColor(0xb4, 0x53, 0x09);
/// Errors.
const WRONG: RGBColor = RGBColor(0xc6, 0x28, 0x28);

/// A chart.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Chart {
    /// The title, in a few words.
    pub title: String,
    /// A description for people who do not see it.
    pub description: String,
    /// For wide screens.
    pub wide: Drawing,
    /// For narrow screens.
    pub narrow: Drawing,
    /// The texts that appear at positions.
    pub hover: Vec<Spot>,
}

/// The text at a position of a plot.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Spot {
    /// From 0 to 1, from left to right.
    pub place: f64,
    /// From 0 to 1, from bottom to top; `None` if it covers a whole column.
    pub height: Option<f64>,
    pub text: String,
}

/// The content of an `<svg>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Drawing {
    pub width: u32,
    pub height: u32,
    /// The left and the right end of the plot.
    pub plot: Range<i32>,
    /// The top and the bottom of the plot.
    pub rows: Range<i32>,
    /// The markup that plotters wrote.
    pub content: String,
}

/// The area that a chart is drawn on.
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// The sizes of texts on a chart, in its own units.
#[derive(Debug, Clone, Copy)]
struct Size {
    width: u32,
    height: u32,
    font: u32,
    x_labels: usize,
    left: u32,
}

const WIDE: Size = Size { width: 760, height: 270, font: 15, x_labels: 7, left: 76 };
const NARROW: Size = Size { width: 340, height: 230, font: 12, x_labels: 4, left: 58 };

impl Chart {
    /// Draws both sizes. `draw` returns where the plot begins and ends.
    fn draw(
        title: impl Into<String>,
        description: String,
        hover: Vec<Spot>,
        draw: impl Fn(&Area<'_>, Size) -> Result<(Range<i32>, Range<i32>), ReportError>,
    ) -> Result<Self, ReportError> {
        let drawing = |size: Size| -> Result<Drawing, ReportError> {
            let mut text = String::new();
            let (plot, rows) = {
                let area = SVGBackend::with_string(&mut text, (size.width, size.height)).into_drawing_area();
                let plot = draw(&area, size)?;
                area.present().map_err(chart_error)?;
                plot
            };
            // The frame that plotters writes around it has a fixed size.
            let content = text.split_once('>').map_or("", |(_, rest)| rest).trim();
            let content = content.strip_suffix("</svg>").unwrap_or(content).trim().to_owned();
            Ok(Drawing { width: size.width, height: size.height, plot, rows, content })
        };
        Ok(Self { title: title.into(), description, hover, wide: drawing(WIDE)?, narrow: drawing(NARROW)? })
    }
}

impl Spot {
    fn new(place: f64, text: String) -> Self {
        Self { place, height: None, text }
    }
}

/// The labels at the axes.
struct Labels<'f> {
    x: &'f dyn Fn(&f64) -> String,
    y: &'f dyn Fn(&f64) -> String,
    /// About how many labels there are from bottom to top.
    count: usize,
}

/// A plane of two axes with lines from left to right.
type Plane<'a, Y> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<RangedCoordf64, Y>>;

/// Draws the axes of a chart.
fn plane<'a, Y>(
    area: &Area<'a>,
    size: Size,
    x: Range<f64>,
    y: Y,
    labels: &Labels<'_>,
) -> Result<Plane<'a, Y::CoordDescType>, ReportError>
where
    Y: AsRangedCoord<Value = f64>,
    Y::CoordDescType: ValueFormatter<f64>,
{
    let mut plane = ChartBuilder::on(area)
        .margin(8)
        // Half of the last label extends beyond the plot.
        .margin_right(size.font * 2)
        .x_label_area_size(size.font + 14)
        .y_label_area_size(size.left)
        .build_cartesian_2d(x, y)
        .map_err(chart_error)?;
    plane
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(GRID.mix(0.0))
        .bold_line_style(GRID)
        .axis_style(GRID)
        .x_labels(size.x_labels)
        .y_labels(labels.count)
        .x_label_style(size.text())
        .y_label_style(size.text())
        .x_label_formatter(&labels.x)
        .y_label_formatter(&labels.y)
        .draw()
        .map_err(chart_error)?;
    Ok(plane)
}

impl Size {
    fn text(self) -> TextStyle<'static> {
        (FontFamily::SansSerif, self.font, FontStyle::Normal, &INK).into_text_style(&(self.width, self.height))
    }
}

impl Size {
    /// The style of the text at marked positions.
    fn marked(self) -> TextStyle<'static> {
        (FontFamily::SansSerif, self.font, FontStyle::Normal, &MARKED).into_text_style(&(self.width, self.height))
    }
}

fn chart_error(error: impl Error + Send + Sync + 'static) -> ReportError {
    ReportError::Chart(Box::new(error))
}
