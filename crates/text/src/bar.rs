/// How bars are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BarStyle {
    /// With blocks, to an eighth of a column.
    Blocks,
    /// With `#`, for a terminal that shows only ASCII.
    Ascii,
}

impl BarStyle {
    /// Draws a share between 0 and 1 of a bar that takes `columns` columns when it is full. A share above 0 is always
    /// visible, if there is a column.
    pub fn draw(self, share: f64, columns: usize) -> String {
        /// From one eighth to seven.
        const PARTS: [&str; 7] = ["▏", "▎", "▍", "▌", "▋", "▊", "▉"];
        let share = if share.is_finite() && columns > 0 { share.clamp(0.0, 1.0) } else { 0.0 };
        let eighths = (share * 8.0 * columns as f64).round() as usize;
        match self {
            Self::Blocks => {
                let eighths = if share > 0.0 { eighths.max(1) } else { 0 };
                let part = (eighths % 8).checked_sub(1).map_or("", |index| PARTS[index]);
                "█".repeat(eighths / 8) + part
            }
            Self::Ascii => "#".repeat(if share > 0.0 { ((eighths + 4) / 8).max(1) } else { 0 }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::BarStyle::{Ascii, Blocks};

    #[test]
    fn bars_are_as_long_as_their_share_and_the_smallest_share_is_seen() {
        let shares = [0.0, 0.0001, 0.25, 0.49, 1.0, 7.0, f64::NAN];
        assert_eq!(shares.map(|share| Blocks.draw(share, 4)), ["", "▏", "█", "██", "████", "████", ""]);
        assert_eq!(shares.map(|share| Ascii.draw(share, 4)), ["", "#", "#", "##", "####", "####", ""]);
        assert_eq!([Blocks, Ascii].map(|style| style.draw(1.0, 0)), ["", ""]);
    }
}
