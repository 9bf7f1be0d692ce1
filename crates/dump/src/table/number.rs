/// Returns a number with four digits, short enough for a table.
pub(crate) fn short(number: f64) -> String {
    let magnitude = number.abs();
    if number == 0.0 {
        "0".into()
    } else if number.is_finite() && !(1e-3..1e5).contains(&magnitude) {
        format!("{number:.3e}")
    } else {
        let decimals = (3.0 - magnitude.log10().floor()).clamp(0.0, 6.0) as usize;
        format!("{number:.decimals$}")
    }
}

/// Returns a number as JSON can hold it.
pub(crate) fn finite(number: f64) -> Option<f64> {
    number.is_finite().then_some(number)
}
