use plotters::prelude::{Circle, IntoLogRange, PathElement};
use plotters::style::Color;

use super::{AROUND, Area, Chart, DATA, Labels, Size, Spot, WRONG, chart_error, plane};
use crate::ReportError;
use crate::facts::{DumpFacts, ValueRow};
use crate::units::{count, trimmed, value};

/// How many values are drawn at most. If there are more, several share a position.
const MOST_VALUES: usize = 600;

/// Draws the largest element of every value, in the order of the graph; `None` if no value has one above zero.
pub(crate) fn magnitude(dump: &DumpFacts) -> Result<Option<Chart>, ReportError> {
    let width = dump.rows.len().div_ceil(MOST_VALUES).max(1);
    // Of several values that share a position, the worst is shown.
    let worst = |rows: &'_ [ValueRow]| -> Option<(usize, f64, bool)> {
        let sizes = rows.iter().enumerate().map(|(index, row)| (index, size(row), row.nan + row.inf > 0));
        sizes.max_by(|a, b| a.2.cmp(&b.2).then(a.1.total_cmp(&b.1)))
    };
    let points: Vec<(usize, f64, bool)> = (0..dump.rows.len())
        .step_by(width)
        .filter_map(|at| {
            let (index, size, bad) = worst(&dump.rows[at..(at + width).min(dump.rows.len())])?;
            Some((at + index, size, bad))
        })
        .collect();
    let sizes = || points.iter().map(|(_, size, _)| *size).filter(|size| *size > 0.0);
    let (Some(least), Some(most)) = (sizes().reduce(f64::min), sizes().reduce(f64::max)) else { return Ok(None) };
    let (bottom, top) = (least.max(most * 1e-12) / 3.0, most * 3.0);
    let to = dump.rows.len().max(2) as f64 - 1.0;
    let hover = points.iter().map(|(index, size, _)| {
        let row = &dump.rows[*index];
        let bad = match (row.nan, row.inf) {
            (0, 0) => String::new(),
            (nan, inf) => format!(", {nan} NaN, {inf} infinite"),
        };
        Spot::new(*index as f64 / to, format!("{}: at most {}{bad}", row.value, value(*size)))
    });
    let bad = points.iter().filter(|(.., bad)| *bad).count();
    let order = if dump.is_ordered { "in the order of execution" } else { "in the order of their files" };
    let description = format!(
        "The largest finite element of each of {} values, without its sign, on a logarithmic scale from {} to {}, {order}. {}",
        dump.rows.len(),
        value(least),
        value(most),
        match bad {
            0 => "All are finite.".to_owned(),
            bad => format!("{bad} of them have NaN or infinite elements, and are marked."),
        }
    );
    let draw = |area: &Area<'_>, size: Size| {
        let labels = Labels {
            x: &|place: &f64| count(*place as u64 + 1),
            y: &|size: &f64| if (1e-3..1e5).contains(size) { trimmed(*size) } else { format!("{size:.0e}") },
            count: 6,
        };
        // There is no value halfway between two.
        let size = Size { x_labels: size.x_labels.min(to as usize + 1), ..size };
        let mut chart = plane(area, size, 0.0..to, (bottom..top).log_scale(), &labels)?;
        let stems = points.iter().filter(|point| point.1 > 0.0).map(|(index, size, bad)| {
            let style = if *bad { WRONG } else { AROUND };
            PathElement::new([(*index as f64, bottom), (*index as f64, size.max(bottom))], style.stroke_width(2))
        });
        chart.draw_series(stems).map_err(chart_error)?;
        let heads = points.iter().map(|(index, size, bad)| {
            let style = if *bad { WRONG } else { DATA };
            Circle::new((*index as f64, size.max(bottom)), if *bad { 5 } else { 3 }, style.filled())
        });
        chart.draw_series(heads).map_err(chart_error)?;
        Ok(chart.plotting_area().get_pixel_range())
    };
    let title = format!("The largest element of every value, {order}");
    Chart::draw(title, description, hover.collect(), draw).map(Some)
}

/// Returns the largest finite element of a value, without its sign; 0 if it has none.
fn size(row: &ValueRow) -> f64 {
    [row.min, row.max].into_iter().flatten().map(f64::abs).filter(|size| size.is_finite()).fold(0.0, f64::max)
}
