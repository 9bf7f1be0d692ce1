use std::fmt;

/// Displays a number with at most six significant digits, and with an exponent where it is very large or very small.
#[derive(Debug, Clone, Copy)]
pub struct ShortNumber(pub f64);

impl fmt::Display for ShortNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.0.abs();
        if self.0 != 0.0 && !(1e-4..1e7).contains(&size) {
            return write!(f, "{:.4e}", self.0);
        }
        let decimals = if size == 0.0 { 0 } else { 5 - size.log10().floor().min(5.0) as i32 };
        let text = format!("{:.decimals$}", self.0, decimals = decimals.max(0) as usize);
        f.write_str(if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text })
    }
}
