//! Words that were probably meant to be others.

/// The candidate that `word` was probably meant to be: the nearest by edit distance, if at most a third of the word
/// would have to change.
pub fn did_you_mean<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    /// Longer words are operators' names with a long path; looking for a near one among thousands would take long.
    const LONGEST: usize = 200;
    let letters: Vec<char> = word.chars().flat_map(char::to_lowercase).take(LONGEST + 1).collect();
    if letters.is_empty() || letters.len() > LONGEST {
        return None;
    }
    let most = (letters.len() / 3).max(1);
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let other: Vec<char> = candidate.chars().flat_map(char::to_lowercase).take(LONGEST + 1).collect();
        if other.len().abs_diff(letters.len()) > most {
            continue;
        }
        let distance = edit_distance(&letters, &other);
        if distance <= most && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Letters to insert, delete, replace or swap with their neighbour ("optimal string alignment"), in three rows of memory.
fn edit_distance(from: &[char], to: &[char]) -> usize {
    let mut before_last = vec![0; to.len() + 1];
    let mut last: Vec<usize> = (0..=to.len()).collect();
    let mut row = vec![0; to.len() + 1];
    for i in 1..=from.len() {
        row[0] = i;
        for j in 1..=to.len() {
            let replaced = last[j - 1] + usize::from(from[i - 1] != to[j - 1]);
            row[j] = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1] {
                row[j] = row[j].min(before_last[j - 2] + 1);
            }
        }
        std::mem::swap(&mut before_last, &mut last);
        std::mem::swap(&mut last, &mut row);
    }
    last[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_recognised_and_another_word_is_not() {
        let keys = ["dump_path", "dump_list", "dump_mode", "L2norm"];
        assert_eq!(did_you_mean("dump_pth", keys), Some("dump_path"));
        assert_eq!(did_you_mean("DUMP_MODE", keys), Some("dump_mode"));
        assert_eq!(did_you_mean("dump_ptah", keys), Some("dump_path"));
        assert_eq!(did_you_mean("l2norm", keys), Some("L2norm"));
        assert_eq!(did_you_mean("switch", keys), None);
        assert_eq!(did_you_mean("", keys), None);
        assert_eq!(edit_distance(&['k', 'i', 't', 't', 'e', 'n'], &['s', 'i', 't', 't', 'i', 'n', 'g']), 3);
    }
}
