//! Suggestions for misspelt words.

use strsim::osa_distance;

/// Returns the candidate that is most like `word`, or `None` if more than a third of its letters differ. Upper and
/// lower case are the same, and two letters in the wrong order count once.
pub fn did_you_mean<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    /// Longer words are names of operators with a long path. Comparing one with thousands of names would take long.
    const LONGEST: usize = 200;
    let word = word.to_lowercase();
    let letters = word.chars().count();
    if letters == 0 || letters > LONGEST {
        return None;
    }
    let most = (letters / 3).max(1);
    let distance = |candidate: &'c str| {
        let lower = candidate.to_lowercase();
        let is_near = lower.chars().count().abs_diff(letters) <= most;
        is_near.then(|| (osa_distance(&word, &lower), candidate)).filter(|(distance, _)| *distance <= most)
    };
    candidates.into_iter().filter_map(distance).min_by_key(|(distance, _)| *distance).map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_word_is_recognised_and_another_word_is_not() {
        let keys = ["dump_path", "dump_list", "dump_mode", "L2norm"];
        assert_eq!(did_you_mean("dump_pth", keys), Some("dump_path"));
        assert_eq!(did_you_mean("DUMP_MODE", keys), Some("dump_mode"));
        assert_eq!(did_you_mean("dump_ptah", keys), Some("dump_path"));
        assert_eq!(did_you_mean("l2norm", keys), Some("L2norm"));
        assert_eq!(did_you_mean("switch", keys), None);
        assert_eq!(did_you_mean("", keys), None);
        assert_eq!(did_you_mean(&"dump".repeat(100), ["dump".repeat(100).as_str()]), None, "too long to compare");
    }
}
