/// How many cells a table has at most. Longer sequences are paired in their order, kind by kind.
const MOST_CELLS: usize = 1 << 24;

/// Returns the pairs of the alignment of two sequences with the largest sum of weights, in order. `weight` says how
/// well two items belong together, 0 if they do not. Of equal sums, the one with the earliest pairs is taken.
pub(super) fn align<L, R>(left: &[L], right: &[R], weight: impl Fn(&L, &R) -> u32) -> Option<Vec<(usize, usize)>> {
    let (rows, columns) = (left.len() + 1, right.len() + 1);
    if rows.checked_mul(columns)? > MOST_CELLS {
        return None;
    }
    // The best sum for the items from each pair of positions on.
    let mut best = vec![0u32; rows * columns];
    for i in (0..left.len()).rev() {
        for j in (0..right.len()).rev() {
            let here = weight(&left[i], &right[j]);
            let both = if here > 0 { here + best[(i + 1) * columns + j + 1] } else { 0 };
            best[i * columns + j] = both.max(best[(i + 1) * columns + j]).max(best[i * columns + j + 1]);
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut pairs = Vec::new();
    while i < left.len() && j < right.len() {
        let here = weight(&left[i], &right[j]);
        if here > 0 && best[i * columns + j] == here + best[(i + 1) * columns + j + 1] {
            pairs.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if best[i * columns + j] == best[(i + 1) * columns + j] {
            i += 1;
        } else {
            j += 1;
        }
    }
    Some(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(left: &str, right: &str) -> Vec<(usize, usize)> {
        let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
        align(&left, &right, |l, r| u32::from(l == r)).unwrap()
    }

    #[test]
    fn the_longest_common_subsequence_is_found_in_order() {
        assert_eq!(same("abcd", "abcd"), [(0, 0), (1, 1), (2, 2), (3, 3)]);
        assert_eq!(same("abcd", "axcd"), [(0, 0), (2, 2), (3, 3)]);
        assert_eq!(same("xab", "abab"), [(1, 0), (2, 1)], "the earliest of equal ones");
        assert_eq!(same("aab", "ab"), [(0, 0), (2, 1)]);
        assert_eq!(same("abc", ""), []);
        assert_eq!(same("ab", "ba").len(), 1);
    }

    #[test]
    fn a_larger_weight_outweighs_an_earlier_pair() {
        let weight = |l: &u32, r: &u32| if l == r { 3 } else { u32::from(l.abs_diff(*r) == 1) };
        assert_eq!(align(&[1], &[2, 1], weight).unwrap(), [(0, 1)]);
        assert_eq!(align(&[1, 9], &[2, 9], weight).unwrap(), [(0, 0), (1, 1)]);
    }

    #[test]
    fn a_table_has_16_million_cells_at_most() {
        let long = vec![0u8; 1 << 12];
        assert!(align(&long, &long, |_, _| 1).is_none());
    }
}
