use opscope_text::shown_duration;

use super::TimesError;
use super::comparison::{Baseline, Side, TimesComparison};
use super::measurement::Times;

impl TimesComparison {
    /// Compares two measurements. The older one is the baseline. If nothing says which one is older, the second one is,
    /// because what is compared comes first everywhere.
    ///
    /// # Errors
    /// Returns an error if one is a recording and the other a summary, or if they have no operator in common.
    pub fn by_age(one: &Times, other: &Times) -> Result<Self, TimesError> {
        // Summaries that do not say when they were made are of earlier versions, so `None` is older than any time.
        let (first, second) = (one.side.start_unix_ns, other.side.start_unix_ns);
        let baseline = if first == second { Baseline::Second } else { Baseline::Older };
        let comparison = if first < second { Self::of(one, other) } else { Self::of(other, one) };
        comparison.map(|comparison| Self { baseline, ..comparison })
    }

    /// Returns which side is the baseline, and why, as a sentence.
    pub fn baseline_sentence(&self) -> String {
        match (self.baseline, age(&self.a, &self.b)) {
            (Baseline::Older, Some(age)) => format!("A was measured {age}, so it is the baseline"),
            (Baseline::Older, None) => {
                "A does not say when it was measured, so it is of an earlier version, and the baseline".to_owned()
            }
            (Baseline::Chosen, Some(age)) => format!("A was chosen as the baseline; it was measured {age}"),
            (Baseline::Chosen, None) => "A was chosen as the baseline".to_owned(),
            (Baseline::Second, _) if self.a.path == self.b.path => "A and B are the same measurement".to_owned(),
            (Baseline::Second, _) => "nothing says which one is older, so A is taken as the baseline".to_owned(),
        }
    }
}

/// Returns how long before B, or after it, A was measured. `None` if one of them does not say when.
fn age(a: &Side, b: &Side) -> Option<String> {
    let (a, b) = (a.start_unix_ns?, b.start_unix_ns?);
    let relation = if a <= b { "before" } else { "after" };
    Some(format!("{} {relation} B", shown_age(a.abs_diff(b) as f64 / 1e9)))
}

/// Returns a length of time in the largest unit of which it has at least two.
fn shown_age(seconds: f64) -> String {
    let units = [(86_400.0, "days"), (3_600.0, "hours"), (60.0, "minutes"), (1.0, "seconds")];
    match units.into_iter().find(|(unit, _)| seconds >= 2.0 * unit) {
        Some((unit, name)) => format!("{:.0} {name}", (seconds / unit).floor()),
        None => shown_duration(seconds * 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_shown_in_whole_units() {
        for (seconds, shown) in
            [(0.5, "500.000 ms"), (119.9, "119 seconds"), (120.0, "2 minutes"), (7_200.0, "2 hours"), (2e5, "2 days")]
        {
            assert_eq!(shown_age(seconds), shown);
        }
    }
}
