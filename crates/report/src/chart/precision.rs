use plotters::prelude::{Circle, IntoLogRange, PathElement};
use plotters::style::Color;

use super::{AROUND, Area, Chart, DATA, Labels, Size, Spot, WRONG, chart_error, plane};
use crate::ReportError;
use crate::source::{SavedLook, SavedPrecision};
use crate::units::{count, trimmed, value};

/// How many operators are drawn at most. If there are more, several share a position.
const MOST_OPERATORS: usize = 600;

/// Draws the own error of every operator in rounding units, in the order of execution; `None` if none is known.
pub(crate) fn own_errors(precision: &SavedPrecision) -> Result<Option<Chart>, ReportError> {
    let looks = &precision.all_operators;
    let unit = precision.rounding_unit();
    let known = || looks.iter().filter_map(|look| look.error).filter(|error| *error > 0.0).map(|error| error / unit);
    let (Some(least), Some(most)) = (known().reduce(f64::min), known().reduce(f64::max)) else { return Ok(None) };
    let (bottom, top) = (least.max(most * 1e-12).min(1.0) / 3.0, most.max(1.0) * 3.0);
    // What is not finite is at the top.
    let height = |look: &SavedLook| match look.error {
        Some(error) => (error / unit).clamp(bottom, top),
        None => top,
    };
    let width = looks.len().div_ceil(MOST_OPERATORS).max(1);
    // Of several operators that share a position, a kept one is shown, or else the worst.
    let points: Vec<(usize, f64, bool)> = (0..looks.len())
        .step_by(width)
        .filter_map(|at| {
            let group = at..(at + width).min(looks.len());
            let points = group.map(|index| (index, height(&looks[index]), looks[index].kept));
            points.max_by(|a, b| a.2.cmp(&b.2).then(a.1.total_cmp(&b.1)))
        })
        .collect();
    let to = looks.len().max(2) as f64 - 1.0;
    let hover = points.iter().map(|(index, ..)| {
        let look = &looks[*index];
        let error = look.error.map_or("not finite, or not known".to_owned(), |error| value(error / unit));
        let kept = if look.kept { ", stays in float32" } else { "" };
        Spot::new(*index as f64 / to, format!("{}: {error}{kept}", look.operator))
    });
    let description = format!(
        "The error of the outputs of each of {} operators if it alone computes in {}, as a multiple of the error of rounding one number, on a \
         logarithmic scale from {} to {}, in the order of execution. The {} that stay in float32 are marked; an error that is not finite, or \
         not known, is at the top.",
        looks.len(),
        precision.to,
        value(least),
        value(most),
        precision.kept.len(),
    );
    let draw = |area: &Area<'_>, size: Size| {
        let labels = Labels {
            x: &|place: &f64| count(*place as u64 + 1),
            y: &|error: &f64| if (1e-3..1e5).contains(error) { trimmed(*error) } else { format!("{error:.0e}") },
            count: 6,
        };
        // There is no operator halfway between two.
        let size = Size { x_labels: size.x_labels.min(to as usize + 1), ..size };
        let mut chart = plane(area, size, 0.0..to, (bottom..top).log_scale(), &labels)?;
        let stems = points.iter().map(|(index, height, kept)| {
            let style = if *kept { WRONG } else { AROUND };
            PathElement::new([(*index as f64, bottom), (*index as f64, *height)], style.stroke_width(2))
        });
        chart.draw_series(stems).map_err(chart_error)?;
        let heads = points.iter().map(|(index, height, kept)| {
            let style = if *kept { WRONG } else { DATA };
            Circle::new((*index as f64, *height), if *kept { 5 } else { 3 }, style.filled())
        });
        chart.draw_series(heads).map_err(chart_error)?;
        Ok(chart.plotting_area().get_pixel_range())
    };
    let title = "The own error of every operator in rounding units, in the order of execution";
    Chart::draw(title, description, hover.collect(), draw).map(Some)
}
